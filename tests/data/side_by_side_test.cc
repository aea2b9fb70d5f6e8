// Pictures are read and prepared while the runnable works on the one before.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file.h"
#include "measure/predict.h"

namespace requal::measure {
namespace {

data::Picture grey(std::uint8_t level) {
    data::Picture picture;
    picture.width = 8;
    picture.height = 6;
    picture.rgb.assign(std::size_t{8} * 6 * 3, level);
    return picture;
}

/// A runnable whose run of each sample ends only when the next picture has been opened.
class Patient final : public OutputSource {
public:
    Patient(const std::vector<PictureSample>& samples) {
        for (const PictureSample& sample : samples) {
            opened_.push_back(inotify_init1(IN_CLOEXEC));
            EXPECT_GE(inotify_add_watch(opened_.back(), sample.path.c_str(), IN_OPEN), 0);
        }
    }
    Patient(const Patient&) = delete;
    Patient& operator=(const Patient&) = delete;
    ~Patient() override {
        for (const int file : opened_) {
            close(file);
        }
    }
    NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) override {
        levels.push_back(inputs.front().second.number_at(0));
        if (index + 1 < opened_.size()) {
            pollfd next{opened_[index + 1], POLLIN, 0};
            // the limit ends a broken program's wait; a sound one waits for a picture of 8 x 6
            EXPECT_EQ(poll(&next, 1, 60000), 1) << "picture " << index + 1 << " waits for its turn";
        }
        return {{"y", Tensor(ElementType::float32, {1})}};
    }
    Json describe() const override { return Json::object(); }

    std::vector<double> levels;

private:
    std::vector<int> opened_;
};

TEST(Predict, PreparesPicturesBesideTheInference) {
    const TemporaryFolder folder("requal-side-by-side");
    PredictRequest request;
    for (int i = 0; i < 9; ++i) {
        const std::string path = folder.path() + "/" + std::to_string(i) + ".png";
        write_file_atomically(path, data::encode_png(grey(static_cast<std::uint8_t>(10 * i))));
        request.samples.push_back({i + 1, std::to_string(i), path, std::nullopt});
    }
    request.preprocess = data::parse_preprocess("schema: preprocess/1\n", "spec");
    request.progress_name.clear();
    Patient side(request.samples);
    std::vector<std::size_t> order;
    const PredictTimes times =
        predict(side, {{"x", ElementType::float32, {1, 3, 6, 8}}}, request,
                [&](const PredictedPicture& picture) { order.push_back(picture.index); });
    EXPECT_EQ(side.levels, (std::vector<double>{0, 10, 20, 30, 40, 50, 60, 70, 80}));
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_GT(times.prepare_ms, 0);
    EXPECT_GE(times.wall_ms, times.run_ms);
}

}  // namespace
}  // namespace requal::measure
