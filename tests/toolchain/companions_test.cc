#include <unistd.h>

#include "onnx_bytes.h"
#include "support.h"
#include "toolchain/companions.h"

namespace requal::toolchain {
namespace {

using Names = std::vector<std::string>;

TEST(Companions, ExternalDataIsFoundWhereverATensorCanBe) {
    EXPECT_EQ(external_names(relu_model()), Names());
    EXPECT_EQ(external_names(external_model("w/b.bin")), Names{"w/b.bin"});
    const std::string tensor = external_tensor("t", "deep.bin", 1);
    const std::string in_attribute = text(1, text(5, text(1, "value") + text(5, tensor)));
    const std::string in_list = text(1, text(5, text(10, tensor)));
    const std::string sub_graph = text(1, text(5, text(6, text(5, tensor))));
    const std::string sub_graphs = text(1, text(5, text(11, in_attribute)));
    const std::string sparse = text(15, text(1, tensor));
    for (const std::string& graph : {in_attribute, in_list, sub_graph, sub_graphs, sparse}) {
        EXPECT_EQ(external_names(model_of(graph)), Names{"deep.bin"});
    }
    EXPECT_EQ(external_names(text(25, text(7, text(5, text(5, tensor))))), Names{"deep.bin"});
    // Each name once, sorted.
    EXPECT_EQ(external_names(model_of(text(5, external_tensor("b", "z", 1)) +
                                      text(5, external_tensor("c", "a", 1)) +
                                      text(5, external_tensor("d", "z", 1)))),
              (Names{"a", "z"}));
}

TEST(Companions, AContextBinaryBelongsToItsModelUnlessItIsEmbedded) {
    const auto context = [](std::string_view op, std::uint64_t embed_mode) {
        return model_of(
            text(1, text(4, op) + text(5, text(1, "embed_mode") + number(3, embed_mode)) +
                        text(5, text(1, "ep_cache_context") + text(4, "engine_ctx.bin"))));
    };
    EXPECT_EQ(external_names(context("EPContext", 0)), Names{"engine_ctx.bin"});
    EXPECT_EQ(external_names(context("EPContext", 1)), Names());
    EXPECT_EQ(external_names(context("Conv", 0)), Names());
}

TEST(Companions, BytesThatAreNoModelHaveNone) {
    const std::string whole = external_model("b.bin");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_LE(external_names(whole.substr(0, size)).size(), 1U);
    }
    EXPECT_EQ(external_names("{\"scripted\": 1}"), Names());
    EXPECT_EQ(external_names(std::string(1000, '\xff')), Names());
    std::string nested = text(5, external_tensor("t", "too-deep", 1));
    for (int i = 0; i < 5000; ++i) {
        nested = text(1, text(5, text(6, nested)));
    }
    EXPECT_EQ(external_names(model_of(nested)), Names()) << "nesting is bounded";
}

TEST(Companions, AreHeldInsideTheFolderOfTheModel) {
    const TemporaryFolder folder;
    const TemporaryFolder elsewhere;
    const std::string path = folder.path() + "/m.onnx";
    write_file_atomically(elsewhere.path() + "/secret", "0123456789abcdef");
    const std::vector<std::string> locations{"../secret", "a/../../secret",
                                             elsewhere.path() + "/secret", "not-there"};
    for (const std::string& location : locations) {
        write_file_atomically(path, external_model(location));
        EXPECT_ERROR(error_of([&] { companions_of(path); }), ErrorKind::input, "needs the file");
    }
    ASSERT_EQ(symlink((elsewhere.path() + "/secret").c_str(), (folder.path() + "/link").c_str()),
              0);
    write_file_atomically(path, external_model("link"));
    EXPECT_ERROR(error_of([&] { companions_of(path); }), ErrorKind::input, "needs the file");
    make_folders(folder.path() + "/w");
    write_file_atomically(folder.path() + "/w/b.bin", "0123456789abcdef");
    write_file_atomically(path, external_model("w/b.bin"));
    EXPECT_EQ(companions_of(path), Names{"w/b.bin"});
}

TEST(Companions, AnOpenVinoModelHasItsWeightsBesideIt) {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() + "/m.xml", "<net/>");
    EXPECT_EQ(companions_of(folder.path() + "/m.xml"), Names());
    write_file_atomically(folder.path() + "/m.bin", "w");
    EXPECT_EQ(companions_of(folder.path() + "/m.xml"), Names{"m.bin"});
    EXPECT_EQ(companions_of(folder.path() + "/m.blob"), Names());
}

}  // namespace
}  // namespace requal::toolchain
