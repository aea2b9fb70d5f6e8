#include <climits>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/common.h>

#include "base/error.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

// A sub-graph takes three levels (graph, node, attribute): about thirty nested ones.
constexpr int nesting_limit = 100;

struct Lookalike {
    std::size_t offset;
    std::string_view magic;
    std::string_view what;
};

constexpr Lookalike lookalikes[] = {
    {0, "PK\x03\x04", "it begins like a zip archive, as PyTorch checkpoints and npz files do"},
    {0, "\x80\x02", "it begins like a Python pickle, as old PyTorch checkpoints do"},
    {0, "<?xml", "it begins like XML, as OpenVINO models do"},
    {0, "ftrt", "it begins like a TensorRT plan"},
    {0, "vtrt", "it begins like a TensorRT-RTX plan"},
    {4, "TFL3", "it looks like a TensorFlow Lite model"},
    {4, "ORTM", "it looks like an ONNX Runtime .ort model"},
    {0, "\x89HDF", "it looks like an HDF5 file, as Keras models are"},
    {0, "version https://git-lfs", "it is a Git LFS pointer: the model itself was not fetched"},
    {0, "<!DOCTYPE html", "it is an HTML page, perhaps a failed download"},
    {0, "<html", "it is an HTML page, perhaps a failed download"},
};

[[noreturn]] void refuse(std::string_view bytes, const std::string& source) {
    std::string message = "not an ONNX model, or a truncated one";
    for (const Lookalike& each : lookalikes) {
        if (bytes.size() >= each.offset &&
            bytes.substr(each.offset, each.magic.size()) == each.magic)
            message = "not an ONNX model: " + std::string(each.what);
    }
    throw Error(ErrorKind::input, message, source, "copy or export it again");
}

}  // namespace

void parse_model(std::string_view bytes, const std::string& source, onnx::ModelProto& model) {
    if (bytes.empty())
        throw Error(ErrorKind::input, "the file is empty, no ONNX model", source,
                    "copy or export it again");
    if (bytes.size() > static_cast<std::size_t>(INT_MAX))
        throw Error(ErrorKind::input,
                    "the model is larger than 2 GiB, the most that protobuf can hold", source,
                    "export it with its weights as external data");
#if GOOGLE_PROTOBUF_VERSION < 4022000
    google::protobuf::SetLogHandler(nullptr);  // it would write to stderr; the error below says it
#endif
    google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
    google::protobuf::io::CodedInputStream stream(&array);
    stream.SetTotalBytesLimit(INT_MAX);
    stream.SetRecursionLimit(nesting_limit);
    if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
        refuse(bytes, source);
    // Many bytes parse as a message of unknown fields.
    if (!model.has_graph() || model.ir_version() == 0)
        refuse(bytes, source);
}

}  // namespace requal::graph
