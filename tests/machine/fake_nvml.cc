// NVML as far as gpus.cc asks it, for tests: two GPUs, or what $FAKE_NVML says (none, no-driver, lost, other, flood).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

bool says(const char* what) {
    const char* value = std::getenv("FAKE_NVML");
    return value != nullptr && std::strcmp(value, what) == 0;
}

int device_index(void* device) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(device)) - 1;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    return says("no-driver") ? 9 : 0;  // NVML_ERROR_DRIVER_NOT_LOADED
}
int nvmlShutdown() {
    return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
    std::strncpy(text, "570.86.15", size);
    return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = says("none") ? 0 : says("flood") ? 4'000'000'000U : 2;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (says("lost") && index == 1)
        return 15;  // NVML_ERROR_GPU_IS_LOST
    *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(index) + 1);
    return 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
    if (says("flood"))
        return 1;
    const bool other = says("other") && device_index(device) == 1;
    std::strncpy(text, other ? "NVIDIA L40S" : "NVIDIA A100-SXM4-80GB", size);
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    *major = 8;
    *minor = says("other") && device_index(device) == 1 ? 9 : 0;
    return 0;
}
int nvmlDeviceGetVbiosVersion(void*, char* text, unsigned size) {
    std::strncpy(text, "92.00.A0.00.04", size);
    return 0;
}
int nvmlDeviceGetEccMode(void*, int* now, int* later) {
    *now = *later = 1;
    return says("no-permission") ? 4 : 0;  // NVML_ERROR_NO_PERMISSION
}
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) {
    *now = *later = 0;
    return says("other") ? 3 : 0;  // NVML_ERROR_NOT_SUPPORTED
}
int nvmlDeviceGetPowerManagementLimit(void*, unsigned* limit) {
    *limit = 400000;
    return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* clock) {
    *clock = type == 2 ? 1593 : 1410;
    return 0;
}
}
