// What `compare` is measured against: two ONNX Runtime sessions over the same model, one after the other, nothing else.
//
//   bench_bare_sessions MODEL SAMPLES 1x3x320x320     prints {"wall_s", "peak_bytes", "checksum"}
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

namespace {

/// Uniform in [0, 1), equal on every machine; as cheap as can be, because the peer should not be slowed by it.
void fill(std::vector<float>& values, std::uint64_t seed) {
    std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
    for (auto& value : values) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
        value = static_cast<float>(state >> 40U) * 0x1p-24F;
    }
}

double run_side(Ort::Env& env, const char* path, int samples,
                const std::vector<std::int64_t>& shape) {
    const Ort::SessionOptions options;
    Ort::Session session(env, path, options);
    const Ort::AllocatorWithDefaultOptions allocator;
    const auto input_name = session.GetInputNameAllocated(0, allocator);
    const auto output_name = session.GetOutputNameAllocated(0, allocator);
    const char* input_names[] = {input_name.get()};
    const char* output_names[] = {output_name.get()};
    std::size_t count = 1;
    for (const auto size : shape)
        count *= static_cast<std::size_t>(size);
    std::vector<float> values(count);
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    double checksum = 0;
    for (int sample = 0; sample < samples; ++sample) {
        fill(values, static_cast<std::uint64_t>(sample));
        const auto input = Ort::Value::CreateTensor<float>(memory, values.data(), values.size(),
                                                           shape.data(), shape.size());
        const auto outputs =
            session.Run(Ort::RunOptions{nullptr}, input_names, &input, 1, output_names, 1);
        checksum += static_cast<double>(outputs[0].GetTensorData<float>()[0]);
    }
    return checksum;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s MODEL SAMPLES SHAPE\n", argv[0]);
        return 2;
    }
    std::vector<std::int64_t> shape;
    std::istringstream text(argv[3]);
    for (std::string part; std::getline(text, part, 'x');)
        shape.push_back(std::atoll(part.c_str()));
    const int samples = std::atoi(argv[2]);
    const auto start = std::chrono::steady_clock::now();
    Ort::Env env(ORT_LOGGING_LEVEL_WARNING, "bare");
    double checksum = run_side(env, argv[1], samples, shape);
    checksum += run_side(env, argv[1], samples, shape);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"wall_s\": %.6f, \"peak_bytes\": %lld, \"checksum\": %.6f}\n", wall.count(),
                static_cast<long long>(usage.ru_maxrss) * 1024, checksum);
    return 0;
}
