#include "toolchain/runners/onnxruntime/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include <onnxruntime_c_api.h>

#include "base/error.h"

namespace requal::toolchain::ort {
namespace {

const OrtApiBase* entry = nullptr;

const OrtApiBase* open_library() {
    const char* chosen = std::getenv("REQUAL_ONNXRUNTIME");
    const std::string name = chosen && *chosen ? chosen : "libonnxruntime.so.1";
    // never closed: the runtime keeps threads and static objects
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) {
        const char* why = dlerror();
        throw Error(ErrorKind::missing,
                    std::string("cannot be opened: ") + (why ? why : "no reason is given"), name,
                    "set REQUAL_ONNXRUNTIME to the library, or LD_LIBRARY_PATH to its folder");
    }
    using GetApiBase = const OrtApiBase* (*)();
    const auto get = reinterpret_cast<GetApiBase>(dlsym(library, "OrtGetApiBase"));
    if (!get)
        throw Error(ErrorKind::missing, "is no ONNX Runtime library", name,
                    "set REQUAL_ONNXRUNTIME to libonnxruntime.so.1");
    return get();
}

}  // namespace

const OrtApiBase& library_entry() {
    static const OrtApiBase* opened = open_library();
    entry = opened;
    return *opened;
}

}  // namespace requal::toolchain::ort

/// What ONNX Runtime's headers call; they are used after library_entry() only.
extern "C" const OrtApiBase* ORT_API_CALL OrtGetApiBase() noexcept {
    return requal::toolchain::ort::entry;
}
