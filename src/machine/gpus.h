// The GPUs of this computer, as their driver tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace requal::machine {

struct Gpu {
    std::string model;               ///< as the driver names it: "NVIDIA H200"
    std::string compute_capability;  ///< "9.0"
    bool operator==(const Gpu&) const = default;
};

/// How one GPU is set up. What the driver does not tell is left out; what it tells not to have (no ECC memory) too.
struct GpuSetup {
    std::string video_bios;
    std::optional<bool> ecc, mig, persistence;
    std::optional<unsigned> power_limit_mw, graphics_clock_max_mhz, memory_clock_max_mhz;
    std::vector<std::string>
        unknown;  ///< "ecc: NVML code 4", also for functions that this driver lacks
};

struct Gpus {
    std::vector<Gpu> list;
    std::string driver;  ///< its version, "570.86.15"; empty: not known
    std::string
        why_not;  ///< why `list` cannot be told, one sentence; empty: it is known, and may be empty
    std::vector<GpuSetup> setup = {};  ///< one for each of `list`
};

/// Asks NVML, the library of NVIDIA's driver, where it is installed; it needs no CUDA. `library`: another name or path, for tests.
/// Throws nothing: whatever the library does not tell is in `why_not`, and then the list is empty.
/// API: docs.nvidia.com/deploy/nvml-api (nvmlInit_v2, nvmlSystemGetDriverVersion, nvmlDeviceGetCount_v2,
/// nvmlDeviceGetHandleByIndex_v2, nvmlDeviceGetName, nvmlDeviceGetCudaComputeCapability; where they are there, too:
/// nvmlDeviceGetVbiosVersion, nvmlDeviceGetEccMode, nvmlDeviceGetMigMode, nvmlDeviceGetPersistenceMode,
/// nvmlDeviceGetPowerManagementLimit, nvmlDeviceGetMaxClockInfo).
Gpus probe_gpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace requal::machine
