// ONNX Runtime's C++ interface as this runner uses it: one environment, and exceptions turned into requal::Error.
#pragma once

#include <map>
#include <string>
#include <string_view>

// the interface is asked for by us, so that a library that is too old is an error and not a crash before main()
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>

#include "base/error.h"
#include "tensor/type.h"

namespace requal::toolchain::ort {

/// The process's environment, made at first use. Error(missing) when the library does not speak the interface version that
/// this runner was built for. Warnings and errors of the runtime go to standard error, one line each.
Ort::Env& environment();

/// Version of the library, "1.30.0".
std::string library_version();

/// Nodes by provider, filled from the runtime's own log while a session with verbose logging is created.
class PlacementWatch {
public:
    PlacementWatch();
    ~PlacementWatch();
    PlacementWatch(const PlacementWatch&) = delete;
    PlacementWatch& operator=(const PlacementWatch&) = delete;
    std::map<std::string, std::uint64_t> nodes_by_provider() const;
};

/// What the runtime was doing when it failed; decides whether an invalid argument is the user's input.
enum class Phase { load, run };

/// The runtime's error as one clean line: source paths and function names are left out, the node becomes `where` when
/// the text names one.
[[noreturn]] void throw_clean(const Ort::Exception& exception, Phase phase,
                              const std::string& where);

/// The text alone, and the node it names ("" when none).
std::string clean_message(std::string_view text);
std::string node_in_message(std::string_view text);

ONNXTensorElementDataType to_onnx(ElementType type);
/// Error(toolchain) with `where` when Requal has no such type (float 8, int4).
ElementType from_onnx(ONNXTensorElementDataType type, const std::string& where);

}  // namespace requal::toolchain::ort
