#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tensor/npy.h"
#include "tensor/zip.h"

namespace requal {
namespace {

std::string data(const std::string& name) {
    return REQUAL_SOURCE_DIR "/tests/tensor/data/" + name;
}

class Npz : public testing::Test {
protected:
    std::string file(std::string_view content) {
        std::ofstream(path_, std::ios::binary) << content;  // no fsync: called thousands of times
        return path_;
    }

    /// The one line that opening and reading all of `content` ends with.
    std::string refusal(const std::string& content) {
        try {
            read_npz_file(file(content));
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            return error.what();
        }
        ADD_FAILURE() << "was read";
        return {};
    }

    TemporaryFolder folder_;
    std::string path_ = folder_.path() + "/x.npz";
};

Tensor counting(Shape shape) {
    Tensor tensor(ElementType::float32, std::move(shape));
    float next = 0;
    for (float& value : tensor.mutable_values<float>())
        value = next++;
    return tensor;
}

void put(std::string& text, std::size_t at, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
        text.at(at + i) = static_cast<char>(value >> (8 * i) & 0xFF);
}

TEST_F(Npz, ReadsWhatNumpyWrites) {
    NpzReader stored(data("stored.npz"));
    EXPECT_EQ(stored.names(), (std::vector<std::string>{"x", "/conv/out 1", "name"}));
    EXPECT_TRUE(stored.has("x"));
    EXPECT_FALSE(stored.has("y"));
    EXPECT_EQ(stored.read("x").values<float>()[23], 23);
    EXPECT_EQ(stored.read("/conv/out 1").type(), ElementType::int64);
    EXPECT_EQ(stored.read("name").strings()[1], "two");
    NpzReader deflated(data("deflated.npz"));
    EXPECT_EQ(deflated.read("zeros").shape(), (Shape{100, 100}));
    EXPECT_EQ(deflated.read("x").values<float>()[5], 5);
    NpzReader zip64(data("zip64_local.npz"));
    EXPECT_EQ(zip64.names(), std::vector<std::string>{"x"});
    EXPECT_EQ(zip64.read("x").values<float>()[7], 7);
}

TEST_F(Npz, MissingNameSaysWhatIsThere) {
    NpzReader reader(data("stored.npz"));
    try {
        reader.read("y");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("/conv/out 1"), std::string::npos);
    }
}

TEST_F(Npz, WrittenAndReadAgain) {
    Tensor text(ElementType::string, {2});
    text.strings() = {"a", "Ü"};
    NamedTensors tensors{{"x", counting({2, 3})},
                         {"späth/0", text},
                         {"", counting({})},
                         {"bf", counting({4}).converted(ElementType::bfloat16)}};
    write_npz_file(path_, tensors);
    NamedTensors again = read_npz_file(path_);
    ASSERT_EQ(again.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(again[i].first, tensors[i].first);
        EXPECT_EQ(again[i].second.type(), tensors[i].second.type());
        EXPECT_EQ(again[i].second.shape(), tensors[i].second.shape());
    }
    EXPECT_EQ(again[0].second.values<float>()[5], 5);
    EXPECT_EQ(again[1].second.strings(), text.strings());
    EXPECT_EQ(again[3].second.number_at(3), 3);
    std::string first = read_file(path_);
    write_npz_file(path_, tensors);
    EXPECT_EQ(read_file(path_), first);  // no times inside
    write_npz_file(path_, {});
    EXPECT_TRUE(read_npz_file(path_).empty());
}

TEST_F(Npz, NothingAppearsWithoutCommit) {
    {
        NpzWriter writer(path_);
        writer.add("x", counting({2}));
        EXPECT_THROW(writer.add("x", counting({2})), Error);
        EXPECT_THROW(writer.add(std::string("a\0b", 3), counting({2})), Error);
        EXPECT_THROW(writer.add("\xff", counting({2})), Error);
        EXPECT_THROW(writer.add(std::string(70000, 'a'), counting({2})), Error);
    }
    EXPECT_FALSE(file_exists(path_));
}

TEST_F(Npz, Zip64FormIsReadAgain) {
    for (std::uint64_t from : {0, 100, 300}) {
        ZipWriter writer(path_, from);
        for (int i = 0; i < 3; ++i)
            writer.add(std::to_string(i) + ".npy", write_npy(counting({i})), {});
        writer.commit();
        NamedTensors tensors = read_npz_file(path_);
        ASSERT_EQ(tensors.size(), 3U);
        EXPECT_EQ(tensors[2].second.count(), 2U);
    }
}

TEST_F(Npz, ManyMembers) {
    NpzWriter writer(path_);
    Tensor tensor(ElementType::int8, {1});
    for (int i = 0; i < 70000; ++i)  // past 65535 the count needs its zip64 form
        writer.add(std::to_string(i), tensor);
    writer.commit();
    NpzReader reader(path_);
    EXPECT_EQ(reader.names().size(), 70000U);
    EXPECT_EQ(reader.read("69999").count(), 1U);
}

TEST_F(Npz, EveryTruncationIsRefused) {
    std::string whole = read_file(data("stored.npz"));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(refusal(whole.substr(0, size)).empty()) << size;
}

TEST_F(Npz, EveryFlippedBitOfTheElementsIsFound) {
    for (const char* name : {"stored.npz", "deflated.npz"}) {
        std::string whole = read_file(data(name));
        NamedTensors original = read_npz_file(data(name));
        std::size_t found = 0;
        for (std::size_t at = 0; at < whole.size(); ++at) {
            std::string damaged = whole;
            damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
            try {
                // What is still read (a bit in a date, an attribute or a name) must hold the same
                // elements.
                NamedTensors tensors = read_npz_file(file(damaged));
                for (std::size_t i = 0; i < tensors.size(); ++i) {
                    const Tensor* same = find_tensor(original, tensors[i].first);
                    if (same == nullptr)
                        continue;
                    EXPECT_EQ(tensors[i].second.strings(), same->strings());
                    EXPECT_TRUE(std::equal(tensors[i].second.bytes().begin(),
                                           tensors[i].second.bytes().end(), same->bytes().begin(),
                                           same->bytes().end()))
                        << at;
                }
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::input);
                ++found;
            }
        }
        EXPECT_GT(found, whole.size() / 2);
    }
}

TEST_F(Npz, DamageIsNamed) {
    std::string whole = read_file(data("stored.npz"));
    whole[whole.find("\x93NUMPY") + 200] ^= 1;
    EXPECT_NE(refusal(whole).find("'x.npy' is damaged: its bytes do not match its CRC"),
              std::string::npos);
    EXPECT_NE(refusal("").find("empty"), std::string::npos);
    EXPECT_NE(refusal("no zip at all, but some bytes").find("no npz archive"), std::string::npos);
    EXPECT_NE(refusal(read_file(data("f4.npy"))).find("no npz archive"), std::string::npos);
    EXPECT_THROW(NpzReader(folder_.path()), Error);
    EXPECT_THROW(NpzReader(folder_.path() + "/none.npz"), Error);
}

TEST_F(Npz, BombsAreRefusedByTheirSizes) {
    EXPECT_THROW(NpzReader(data("deflated.npz"), 1000), Error);
    std::string whole = read_file(data("deflated.npz"));
    std::size_t entry = whole.find("PK\x01\x02");
    std::string impossible = whole;
    put(impossible, entry + 24, 0x7FFFFFFF, 4);  // 2 GiB from a few bytes
    EXPECT_NE(refusal(impossible).find("impossible"), std::string::npos);
    std::string longer = whole;
    put(longer, entry + 24, 40129, 4);
    EXPECT_NE(refusal(longer).find("another length"), std::string::npos);
    std::string shorter = whole;
    put(shorter, entry + 24, 40127, 4);
    EXPECT_NE(refusal(shorter).find("longer"), std::string::npos);
}

TEST_F(Npz, HostileDirectoriesAreRefused) {
    std::string whole = read_file(data("stored.npz"));
    std::size_t first = whole.find("PK\x01\x02");
    std::size_t second = whole.find("PK\x01\x02", first + 4);
    std::size_t end = whole.find("PK\x05\x06");
    auto changed = [&](std::size_t at, std::uint64_t value, std::size_t size) {
        std::string copy = whole;
        put(copy, at, value, size);
        return refusal(copy);
    };
    EXPECT_NE(changed(first + 8, 1, 2).find("encrypted"), std::string::npos);
    EXPECT_NE(changed(first + 10, 12, 2).find("method 12"), std::string::npos);
    EXPECT_NE(changed(second + 42, 0, 4).find("overlap"), std::string::npos);
    EXPECT_NE(changed(first + 42, 0x7FFFFFFF, 4).find("outside"), std::string::npos);
    EXPECT_NE(changed(first + 20, 0x7FFFFFFF, 4).find("outside"), std::string::npos);
    EXPECT_NE(changed(first + 24, 1, 4).find("two different sizes"), std::string::npos);
    EXPECT_NE(changed(first + 28, 60000, 2).find("damaged at member 1"), std::string::npos);
    EXPECT_NE(changed(end + 16, 0x7FFFFFFF, 4).find("outside"), std::string::npos);
    EXPECT_NE(changed(end + 12, 10, 4).find("shorter"), std::string::npos);
    EXPECT_NE(changed(end + 4, 1, 2).find("several"), std::string::npos);
    std::string many = whole;
    put(many, end + 8, 60000, 2);
    put(many, end + 10, 60000, 2);
    EXPECT_NE(refusal(many).find("shorter than its 60000 members"), std::string::npos);
    std::string twice;
    {
        ZipWriter writer(path_);
        writer.add("a.npy", write_npy(counting({1})), {});
        writer.add("b.npy", write_npy(counting({1})), {});
        writer.commit();
        twice = read_file(path_);
        for (std::size_t at = twice.find("b.npy"); at != std::string::npos;
             at = twice.find("b.npy"))
            twice[at] = 'a';
    }
    EXPECT_NE(refusal(twice).find("two members"), std::string::npos);
}

}  // namespace
}  // namespace requal
