#include "machine/gpus.h"

#include <dlfcn.h>

#include <array>
#include <memory>

namespace requal::machine {

namespace {

// NVML's types, as far as they are used: a result code (0 is success) and an opaque handle.
using Result = int;
using Device = void*;

constexpr std::size_t text_bytes =
    256;                             // more than NVML's own buffers (96 for names, 80 for versions)
constexpr unsigned gpu_limit = 256;  // a count beyond it is not believed

class Library {
public:
    explicit Library(const std::string& name)
        : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL), ::dlclose) {}

    bool is_there() const { return handle_ != nullptr; }

    template <typename... Parameters>
    bool bind(const char* symbol, Result (*&function)(Parameters...)) const {
        function = reinterpret_cast<Result (*)(Parameters...)>(::dlsym(handle_.get(), symbol));
        return function != nullptr;
    }

private:
    std::unique_ptr<void, int (*)(void*)> handle_;
};

struct Nvml {
    Result (*init)() = nullptr;
    Result (*shutdown)() = nullptr;
    Result (*driver_version)(char*, unsigned) = nullptr;
    Result (*count)(unsigned*) = nullptr;
    Result (*device)(unsigned, Device*) = nullptr;
    Result (*name)(Device, char*, unsigned) = nullptr;
    Result (*capability)(Device, int*, int*) = nullptr;

    // not every driver has these
    Result (*video_bios)(Device, char*, unsigned) = nullptr;
    Result (*ecc)(Device, int*, int*) = nullptr;
    Result (*mig)(Device, unsigned*, unsigned*) = nullptr;
    Result (*persistence)(Device, int*) = nullptr;
    Result (*power_limit)(Device, unsigned*) = nullptr;
    Result (*clock_max)(Device, int, unsigned*) = nullptr;

    void bind_optional(const Library& library) {
        library.bind("nvmlDeviceGetVbiosVersion", video_bios);
        library.bind("nvmlDeviceGetEccMode", ecc);
        library.bind("nvmlDeviceGetMigMode", mig);
        library.bind("nvmlDeviceGetPersistenceMode", persistence);
        library.bind("nvmlDeviceGetPowerManagementLimit", power_limit);
        library.bind("nvmlDeviceGetMaxClockInfo", clock_max);
    }

    bool bind(const Library& library) {
        return library.bind("nvmlInit_v2", init) && library.bind("nvmlShutdown", shutdown) &&
               library.bind("nvmlSystemGetDriverVersion", driver_version) &&
               library.bind("nvmlDeviceGetCount_v2", count) &&
               library.bind("nvmlDeviceGetHandleByIndex_v2", device) &&
               library.bind("nvmlDeviceGetName", name) &&
               library.bind("nvmlDeviceGetCudaComputeCapability", capability);
    }
};

Gpus failed(const std::string& what, Result code) {
    Gpus gpus;
    gpus.why_not = what + " (NVML code " + std::to_string(code) + ")";
    return gpus;
}

GpuSetup read_setup(const Nvml& nvml, Device device) {
    constexpr Result not_supported = 3;  // NVML_ERROR_NOT_SUPPORTED: this GPU has no such thing
    constexpr int graphics_clock = 0, memory_clock = 2;
    GpuSetup setup;
    const auto told = [&](const char* what, auto function, auto... parameters) {
        if (function == nullptr) {
            setup.unknown.push_back(std::string(what) + ": this driver has no function for it");
            return false;
        }
        const Result code = function(device, parameters...);
        if (code != 0 && code != not_supported)
            setup.unknown.push_back(std::string(what) + ": NVML code " + std::to_string(code));
        return code == 0;
    };
    std::array<char, text_bytes> text{};
    if (told("video_bios", nvml.video_bios, text.data(), static_cast<unsigned>(text.size() - 1)))
        setup.video_bios = text.data();
    int now = 0, later = 0;
    unsigned unsigned_now = 0, unsigned_later = 0;
    if (told("ecc", nvml.ecc, &now, &later))
        setup.ecc = now != 0;
    if (told("mig", nvml.mig, &unsigned_now, &unsigned_later))
        setup.mig = unsigned_now != 0;
    if (told("persistence", nvml.persistence, &now))
        setup.persistence = now != 0;
    if (told("power_limit_mw", nvml.power_limit, &unsigned_now))
        setup.power_limit_mw = unsigned_now;
    if (told("graphics_clock_max_mhz", nvml.clock_max, graphics_clock, &unsigned_now))
        setup.graphics_clock_max_mhz = unsigned_now;
    if (told("memory_clock_max_mhz", nvml.clock_max, memory_clock, &unsigned_now))
        setup.memory_clock_max_mhz = unsigned_now;
    return setup;
}

Gpus read(const Nvml& nvml) {
    Gpus gpus;
    std::array<char, text_bytes> text{};
    // the last byte stays zero whatever the library writes
    const auto room = static_cast<unsigned>(text.size() - 1);
    if (nvml.driver_version(text.data(), room) == 0)
        gpus.driver = text.data();
    unsigned count = 0;
    if (const Result code = nvml.count(&count); code != 0)
        return failed("the driver does not count its GPUs", code);
    if (count > gpu_limit)
        return failed("the driver counts " + std::to_string(count) + " GPUs", 0);
    for (unsigned i = 0; i < count; ++i) {
        Device device = nullptr;
        if (const Result code = nvml.device(i, &device); code != 0)
            return failed("GPU " + std::to_string(i) + " cannot be asked", code);
        text.fill('\0');
        if (const Result code = nvml.name(device, text.data(), room); code != 0)
            return failed("GPU " + std::to_string(i) + " tells no name", code);
        Gpu gpu;
        gpu.model = text.data();
        int major = 0, minor = 0;
        if (nvml.capability(device, &major, &minor) == 0 && major > 0 && minor >= 0)
            gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
        gpus.list.push_back(std::move(gpu));
        gpus.setup.push_back(read_setup(nvml, device));
    }
    return gpus;
}

}  // namespace

Gpus probe_gpus(const std::string& name) {
    Gpus gpus;
    const Library library(name);
    if (!library.is_there()) {
        gpus.why_not = "NVIDIA's driver library is not here (" + name + ")";
        return gpus;
    }
    Nvml nvml;
    if (!nvml.bind(library)) {
        gpus.why_not = name + " is no NVML of a driver that is known (a function is missing)";
        return gpus;
    }
    nvml.bind_optional(library);
    if (const Result code = nvml.init(); code != 0)
        return failed("NVIDIA's driver does not answer", code);
    gpus = read(nvml);
    nvml.shutdown();
    return gpus;
}

}  // namespace requal::machine
