// p50 of Requal's runner against a bare loop over the same model, in turns.
//
//   bench_p50 MODEL 1x3x320x320 [BLOCKS [RUNS]]      prints both medians of each block and the ratio of all
//
// The bare loop runs in this process: one session, fixed input and output buffers, a clock read before and after each run.
// Requal's runner is started as `requal bench` starts it and times inside itself. Blocks alternate, so that both see the same
// machine; each block begins with warm-up runs that are not counted.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "base/error.h"
#include "tensor/tensor.h"
#include "toolchain/client.h"

namespace {

using requal::NamedTensors;
using requal::Shape;
using requal::Tensor;

constexpr int warmup_runs = 5;

double median_ms(std::vector<std::int64_t> durations_ns) {
    const auto middle = durations_ns.begin() + static_cast<std::ptrdiff_t>(durations_ns.size() / 2);
    std::nth_element(durations_ns.begin(), middle, durations_ns.end());
    return static_cast<double>(*middle) / 1e6;
}

struct Free {
    void operator()(float* memory) const { std::free(memory); }
};
using AlignedFloats = std::unique_ptr<float[], Free>;

/// Aligned to a page, as shared memory is: where buffers lie moves a median by per cents.
AlignedFloats aligned_floats(std::size_t count) {
    constexpr std::size_t page = 4096;
    const auto size = (count * sizeof(float) + page - 1) / page * page;
    return AlignedFloats(static_cast<float*>(std::aligned_alloc(page, size)));
}

class BareLoop {
public:
    BareLoop(const char* path, const Tensor& input)
        : env_(ORT_LOGGING_LEVEL_WARNING, "bare"), session_(env_, path, Ort::SessionOptions()) {
        const Ort::AllocatorWithDefaultOptions allocator;
        input_name_ = session_.GetInputNameAllocated(0, allocator).get();
        output_name_ = session_.GetOutputNameAllocated(0, allocator).get();
        const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
        const auto values = input.values<float>();
        input_ = aligned_floats(values.size());
        std::copy(values.begin(), values.end(), input_.get());
        input_value_ = Ort::Value::CreateTensor<float>(memory, input_.get(), values.size(),
                                                       input.shape().data(), input.shape().size());
        const char* inputs[] = {input_name_.c_str()};
        const char* outputs[] = {output_name_.c_str()};
        auto first = session_.Run(Ort::RunOptions{nullptr}, inputs, &input_value_, 1, outputs, 1);
        const auto shape = first[0].GetTensorTypeAndShapeInfo().GetShape();
        const auto count = first[0].GetTensorTypeAndShapeInfo().GetElementCount();
        output_ = aligned_floats(count);
        output_value_ = Ort::Value::CreateTensor<float>(memory, output_.get(), count, shape.data(),
                                                        shape.size());
    }

    std::string input_name() const { return input_name_; }

    std::vector<std::int64_t> block(int runs) {
        const char* inputs[] = {input_name_.c_str()};
        const char* outputs[] = {output_name_.c_str()};
        std::vector<std::int64_t> durations;
        durations.reserve(static_cast<std::size_t>(runs));
        for (int run = -warmup_runs; run < runs; ++run) {
            const auto start = std::chrono::steady_clock::now();
            session_.Run(Ort::RunOptions{nullptr}, inputs, &input_value_, 1, outputs,
                         &output_value_, 1);
            const auto end = std::chrono::steady_clock::now();
            if (run >= 0)
                durations.push_back(
                    std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count());
        }
        return durations;
    }

private:
    Ort::Env env_;
    Ort::Session session_;
    std::string input_name_, output_name_;
    AlignedFloats input_, output_;
    Ort::Value input_value_{nullptr}, output_value_{nullptr};
};

int measure(const char* path, const Shape& shape, int blocks, int runs) {
    Tensor input(requal::ElementType::float32, shape);
    std::uint64_t state = 1;
    for (auto& value : input.mutable_values<float>()) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        value = static_cast<float>(state >> 40U) * 0x1p-24F;
    }
    BareLoop bare(path, input);
    requal::toolchain::RunnerOptions options;
    options.toolchain = "onnxruntime:cpu";
    requal::toolchain::Runner runner(options);
    auto loaded = runner.load(path);
    const NamedTensors inputs = {{bare.input_name(), input}};
    requal::toolchain::TimingRequest request;
    request.warmup_runs = warmup_runs;
    request.runs = static_cast<std::uint64_t>(runs);
    std::vector<std::int64_t> all_bare, all_requal;
    std::vector<double> ratios;
    for (int block = 0; block < blocks; ++block) {
        const auto mine = [&] { return loaded.time(inputs, request).durations_ns; };
        std::vector<std::int64_t> bare_series, requal_series;
        // who begins changes from block to block
        if (block % 2 == 0) {
            bare_series = bare.block(runs);
            requal_series = mine();
        } else {
            requal_series = mine();
            bare_series = bare.block(runs);
        }
        all_bare.insert(all_bare.end(), bare_series.begin(), bare_series.end());
        all_requal.insert(all_requal.end(), requal_series.begin(), requal_series.end());
        ratios.push_back(median_ms(requal_series) / median_ms(bare_series));
        std::printf("block %2d: bare p50 %.4f ms, requal p50 %.4f ms, ratio %.4f\n", block,
                    median_ms(bare_series), median_ms(requal_series), ratios.back());
    }
    std::sort(ratios.begin(), ratios.end());
    std::printf("all: bare p50 %.4f ms, requal p50 %.4f ms, ratio %.4f, median of the blocks' "
                "ratios %.4f\n",
                median_ms(all_bare), median_ms(all_requal),
                median_ms(all_requal) / median_ms(all_bare), ratios[ratios.size() / 2]);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3 || argc > 5) {
        std::fprintf(stderr, "usage: %s MODEL SHAPE [BLOCKS [RUNS]]\n", argv[0]);
        return 2;
    }
    try {
        return measure(argv[1], requal::parse_shape(argv[2]), argc > 3 ? std::atoi(argv[3]) : 20,
                       argc > 4 ? std::atoi(argv[4]) : 50);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
