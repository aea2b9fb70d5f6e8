#include "toolchain/runners/onnxruntime/api.h"

#include <cctype>
#include <cstdio>
#include <memory>
#include <mutex>

#include "base/text.h"
#include "toolchain/runners/onnxruntime/library.h"
#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain::ort {
namespace {

struct Log {
    std::mutex mutex;
    bool watching = false;
    std::map<std::string, std::uint64_t> placed;
};

Log& the_log() {
    static Log log;
    return log;
}

/// " Node(s) placed on [CUDAExecutionProvider]. Number of nodes: 17"
void note_placement(std::string_view message) {
    constexpr std::string_view head = "placed on [";
    constexpr std::string_view count_head = "Number of nodes: ";
    const auto start = message.find(head);
    const auto count_start = message.find(count_head);
    if (start == std::string_view::npos || count_start == std::string_view::npos)
        return;
    const auto name_start = start + head.size();
    const auto name_end = message.find(']', name_start);
    if (name_end == std::string_view::npos)
        return;
    std::uint64_t count = 0;
    for (auto index = count_start + count_head.size();
         index < message.size() && std::isdigit(static_cast<unsigned char>(message[index]));
         ++index)
        count = count * 10 + static_cast<std::uint64_t>(message[index] - '0');
    the_log().placed[std::string(message.substr(name_start, name_end - name_start))] = count;
}

void ORT_API_CALL write_log(void*, OrtLoggingLevel severity, const char* category, const char*,
                            const char*, const char* message) {
    const std::scoped_lock lock(the_log().mutex);
    if (the_log().watching && severity == ORT_LOGGING_LEVEL_VERBOSE)
        note_placement(message);
    if (severity < ORT_LOGGING_LEVEL_WARNING)
        return;
    const auto line = printable(one_line(message));
    std::fprintf(stderr, "%s: %s: %s\n", category,
                 severity == ORT_LOGGING_LEVEL_WARNING ? "warning" : "error", line.c_str());
}

/// End of "/path/file.cc:123 ns::function(args) const [with T = x] " or "file.cc:123 Function " that starts at `start`;
/// `start` when it is none.
std::size_t end_of_source_place(std::string_view text, std::size_t start) {
    const auto blank = text.find_first_of(" \n", start);
    const auto token = text.substr(start, blank == std::string_view::npos ? blank : blank - start);
    const auto colon = token.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == token.size() ||
        token.find_first_not_of("0123456789", colon + 1) != std::string_view::npos)
        return start;
    const auto file = token.substr(0, colon);
    const bool whole_path = file.starts_with('/');
    if (!whole_path && file.find_first_of(":/") != std::string_view::npos)
        return start;
    if (!file.ends_with(".cc") && !file.ends_with(".h") && !file.ends_with(".cpp") &&
        !file.ends_with(".cu") && !file.ends_with(".hpp"))
        return start;
    auto end = blank == std::string_view::npos ? text.size() : blank + 1;
    if (!whole_path) {
        const auto function_end = text.find(' ', end);
        return function_end == std::string_view::npos ? end : function_end + 1;
    }
    // a function signature follows: up to its balanced closing parenthesis
    const auto open = text.find('(', end);
    if (open == std::string_view::npos ||
        text.substr(end, open - end).find_first_of(".;'\"") != std::string_view::npos)
        return end;
    int depth = 0;
    auto index = open;
    for (; index < text.size(); ++index) {
        if (text[index] == '(')
            ++depth;
        if (text[index] == ')' && --depth == 0)
            break;
    }
    if (index == text.size())
        return end;
    end = index + 1;
    const auto skip = [&](std::string_view word) {
        if (text.substr(end).starts_with(word))
            end += word.size();
    };
    skip(" const");
    if (text.substr(end).starts_with(" [with ")) {
        const auto close = text.find(']', end);
        if (close != std::string_view::npos)
            end = close + 1;
    }
    skip(":");
    skip(" ");
    return end;
}

void initialise_interface() {
    const auto& entry = library_entry();
    const auto* api = entry.GetApi(ORT_API_VERSION);
    if (!api)
        throw Error(ErrorKind::missing,
                    std::string("ONNX Runtime ") + entry.GetVersionString() +
                        " does not speak interface version " + std::to_string(ORT_API_VERSION) +
                        ", for which this runner was built",
                    "onnxruntime",
                    "install a newer ONNX Runtime or build the runner against this one");
    Ort::InitApi(api);
}

}  // namespace

Ort::Env& environment() {
    static const std::unique_ptr<Ort::Env> instance = [] {
        initialise_interface();
        return std::make_unique<Ort::Env>(ORT_LOGGING_LEVEL_WARNING, "requal", write_log, nullptr);
    }();
    return *instance;
}

std::string library_version() {
    return OrtGetApiBase()->GetVersionString();
}

PlacementWatch::PlacementWatch() {
    const std::scoped_lock lock(the_log().mutex);
    the_log().watching = true;
    the_log().placed.clear();
}

PlacementWatch::~PlacementWatch() {
    const std::scoped_lock lock(the_log().mutex);
    the_log().watching = false;
}

std::map<std::string, std::uint64_t> PlacementWatch::nodes_by_provider() const {
    const std::scoped_lock lock(the_log().mutex);
    return the_log().placed;
}

std::string clean_message(std::string_view text) {
    std::string result;
    for (std::size_t index = 0; index < text.size();) {
        const bool starts_word = index == 0 || text[index - 1] == ' ' || text[index - 1] == ':';
        const auto end = starts_word ? end_of_source_place(text, index) : index;
        if (end > index) {
            if (!result.empty() && result.back() != ' ')
                result += ' ';
            index = end;
        } else {
            result += text[index++];
        }
    }
    result = one_line(result);
    // what the place of the message says already
    if (result.starts_with("Load model from ")) {
        const auto failed = result.find(" failed:");
        if (failed != std::string::npos)
            result = one_line(std::string_view(result).substr(failed + 8));
    }
    for (const std::string_view prefix :
         {"Exception during initialization:", "[ONNXRuntimeError] : 1 : FAIL :",
          "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION :"}) {
        if (result.starts_with(prefix))
            result = one_line(std::string_view(result).substr(prefix.size()));
    }
    return result;
}

namespace {

/// The runtime says FAIL for a damaged model as for its own troubles; the text tells which.
bool blames_model(std::string_view text) {
    const auto has = [&](std::string_view part) {
        return text.find(part) != std::string_view::npos;
    };
    if (has("not a registered function") || has("guarantees") || has("Unsupported model IR"))
        return false;
    return has("Load model from ") || has("nvalid model") || has("initializer") ||
           has("Initializer") || has("TensorProto") || has("External data");
}

}  // namespace

std::string node_in_message(std::string_view text) {
    // "... while running Conv node. Name:'Conv_0' ...", "Node (Conv_0) Op (Conv) ...", "... node with name 'Conv_0'"
    struct Form {
        std::string_view head;
        char end;
    };
    for (const auto& form :
         {Form{" node. Name:'", '\''}, Form{"Node (", ')'}, Form{"node with name '", '\''},
          Form{"Node:", ' '}, Form{"Node: ", ' '}}) {
        const auto start = text.find(form.head);
        if (start == std::string_view::npos)
            continue;
        const auto name_start = start + form.head.size();
        const auto name_end = text.find(form.end, name_start);
        if (name_end != std::string_view::npos && name_end > name_start)
            return std::string(text.substr(name_start, name_end - name_start));
    }
    return {};
}

void throw_clean(const Ort::Exception& exception, Phase phase, const std::string& where) {
    const std::string_view text = exception.what();
    auto message = clean_message(text);
    const auto node = node_in_message(text);
    auto kind = ErrorKind::toolchain;
    std::string next;
    switch (exception.GetOrtErrorCode()) {
    case ORT_NO_SUCHFILE:
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH:
    case ORT_NO_MODEL:
        kind = ErrorKind::input;
        break;
    case ORT_INVALID_ARGUMENT:
        kind = ErrorKind::input;
        break;
    case ORT_FAIL:
    case ORT_RUNTIME_EXCEPTION:
        if (phase == Phase::load && text.find("no CUDA-capable device") != std::string_view::npos)
            kind = ErrorKind::missing;
        if (phase == Phase::load && blames_model(text))
            kind = ErrorKind::input;
        break;
    case ORT_NOT_IMPLEMENTED:
        next = "this runtime has no kernel for it";
        break;
    default:
        break;
    }
    if (message.empty())
        message = phase == Phase::run ? "the run failed" : "it could not be loaded";
    throw Error(kind, message, node.empty() ? where : where + ", node '" + node + "'", next);
}

ONNXTensorElementDataType to_onnx(ElementType type) {
    switch (type) {
    case ElementType::float32:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    case ElementType::float64:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    case ElementType::float16:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    case ElementType::bfloat16:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
    case ElementType::int8:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    case ElementType::int16:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
    case ElementType::int32:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    case ElementType::int64:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    case ElementType::uint8:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    case ElementType::uint16:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
    case ElementType::uint32:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    case ElementType::uint64:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
    case ElementType::boolean:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    case ElementType::string:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    case ElementType::complex64:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64;
    case ElementType::complex128:
        return ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
    }
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

ElementType from_onnx(ONNXTensorElementDataType type, const std::string& where) {
    for (int index = 0; index <= static_cast<int>(ElementType::complex128); ++index) {
        const auto candidate = static_cast<ElementType>(index);
        if (to_onnx(candidate) == type)
            return candidate;
    }
    throw Error(ErrorKind::toolchain,
                "its element type (ONNX type " + std::to_string(static_cast<int>(type)) +
                    ") has no counterpart here",
                where);
}

}  // namespace requal::toolchain::ort
