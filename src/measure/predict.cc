#include "measure/predict.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <filesystem>
#include <future>
#include <set>
#include <span>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"

namespace requal::measure {

namespace {

constexpr std::uint64_t picture_limit_bytes = std::uint64_t{512} << 20;

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Of this thread: what preparing costs, without what it waits for other work.
double processor_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

struct Prepared {
    data::PreparedInput input;
    double ms = 0;
};

Prepared prepared(const PictureSample& sample, const data::PreprocessSpec& spec) {
    const double start = processor_ms();
    const std::string bytes = read_file(sample.path, picture_limit_bytes);
    if (sample.digest && digest_of(bytes) != *sample.digest) {
        throw Error(ErrorKind::input, "is not the file that was listed: its digest differs",
                    sample.path, "restore the file, or write the list again");
    }
    Prepared result;
    result.input = data::preprocess(
        data::decode_picture(std::as_bytes(std::span(bytes)), spec.rules, sample.path), spec,
        sample.path);
    result.ms = processor_ms() - start;
    return result;
}

}  // namespace

std::vector<PictureSample> pictures_of(const data::DataPart& part) {
    std::vector<PictureSample> samples;
    for (const data::LabelledSample& sample : part.samples) {
        if (sample.path.empty()) {
            throw Error(ErrorKind::input, "holds arrays and no pictures", part.source.labels,
                        "give it as --inputs without --preprocess");
        }
        samples.push_back({sample.id, sample.name, sample.path, sample.digest});
    }
    return samples;
}

std::vector<PictureSample> pictures_of(const std::string& path) {
    std::vector<std::string> paths = {path};
    if (folder_exists(path)) {
        paths = data::pictures_in(path);
    } else {
        file_size(path);
    }
    std::vector<PictureSample> samples;
    for (const std::string& file : paths) {
        samples.push_back({static_cast<std::int64_t>(samples.size()) + 1,
                           std::filesystem::path(file).filename().string(), file, std::nullopt});
    }
    return samples;
}

PredictTimes predict(OutputSource& side, const std::vector<data::InputPort>& ports,
                     const PredictRequest& request,
                     const std::function<void(const PredictedPicture&)>& use) {
    const Clock::time_point started_at = Clock::now();
    PredictTimes times;
    const std::string input = data::port_for(request.preprocess, ports).name;
    const std::size_t count = request.samples.size();
    // one picture ahead of each thread's work; the window keeps memory constant
    const std::size_t window = std::max<std::size_t>(1, request.threads) + 1;
    std::deque<std::future<Prepared>> ahead;
    std::size_t started = 0;
    const auto refill = [&] {
        while (started < count && ahead.size() < window) {
            const PictureSample& sample = request.samples[started++];
            ahead.push_back(std::async(std::launch::async, [&sample, &request] {
                return prepared(sample, request.preprocess);
            }));
        }
    };
    std::optional<Progress> progress;
    if (!request.progress_name.empty()) {
        progress.emplace(request.progress_name, count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        refill();
        Prepared next = ahead.front().get();
        ahead.pop_front();
        refill();
        times.prepare_ms += next.ms;
        data::PreparedInput& ready = next.input;
        const NamedTensors inputs = {{input, std::move(ready.tensor)}};
        const Clock::time_point run = Clock::now();
        const NamedTensors outputs = side.outputs(i, inputs);
        times.run_ms += ms_since(run);
        data::Predictions predictions;
        if (request.decoder) {
            predictions = data::decode(outputs, *request.decoder, ready.placement);
        }
        use({i, request.samples[i], inputs, ready.placement, outputs, predictions});
        throw_if_cancelled();
        if (progress) {
            progress->advance();
        }
    }
    times.wall_ms = ms_since(started_at);
    return times;
}

Json describe_pictures(const PredictRequest& request) {
    Hasher hasher;
    for (const PictureSample& sample : request.samples) {
        const Digest digest = sample.digest ? *sample.digest : digest_of_file(sample.path);
        hasher.update(sample.name + "\n" + digest.text() + "\n");
    }
    Json result = Json::object();
    result["kind"] = "pictures";
    result["samples"] = static_cast<std::uint64_t>(request.samples.size());
    result["digest"] = hasher.finish().text();
    result["preprocess"] = Json::object({{"path", request.preprocess.path},
                                         {"digest", request.preprocess.digest.text()},
                                         {"resizer", data::resizer_version()}});
    return result;
}

}  // namespace requal::measure
