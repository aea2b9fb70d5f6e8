#include "qualify/sides.h"

#include <utility>

namespace requal::qualify {

namespace {

class WatchedSide final : public measure::OutputSource {
public:
    WatchedSide(std::unique_ptr<measure::OutputSource> side, Watch& watch)
        : side_(std::move(side)), watch_(watch) {}

    NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) override {
        try {
            NamedTensors outputs = side_->outputs(index, inputs);
            if (index >= watch_.outputs.size()) {
                watch_.outputs.resize(index + 1);
            }
            watch_.outputs[index] = digests_of(outputs);
            return outputs;
        } catch (const Error&) {
            watch_.broke = true;
            throw;
        }
    }
    Json describe() const override { return side_->describe(); }
    std::optional<std::uint64_t> size() const override { return side_->size(); }

private:
    std::unique_ptr<measure::OutputSource> side_;
    Watch& watch_;
};

}  // namespace

Digest digest_of_tensor(const Tensor& tensor) {
    Hasher hasher;
    hasher.update(name_of(tensor.type()));
    hasher.update(" ");
    hasher.update(text_of(tensor.shape()));
    hasher.update(" ");
    if (tensor.type() == ElementType::string) {
        for (const std::string& text : tensor.strings()) {
            hasher.update(std::to_string(text.size()) + ":");
            hasher.update(text);
        }
    } else {
        hasher.update(tensor.bytes());
    }
    return hasher.finish();
}

OutputDigests digests_of(const NamedTensors& outputs) {
    OutputDigests digests;
    digests.reserve(outputs.size());
    for (const auto& [name, tensor] : outputs) {
        digests.emplace_back(name, digest_of_tensor(tensor));
    }
    return digests;
}

Digest combined_digest(const OutputDigests& outputs) {
    Hasher hasher;
    for (const auto& [name, digest] : outputs) {
        hasher.update(std::to_string(name.size()) + ":");
        hasher.update(name);
        hasher.update(digest.text());
    }
    return hasher.finish();
}

measure::OpenSide watched(const measure::Runnable& runnable, Watch& watch) {
    return [runnable, &watch]() -> std::unique_ptr<measure::OutputSource> {
        try {
            auto side = measure::open_runnable(runnable)();
            watch.opened = true;
            return std::make_unique<WatchedSide>(std::move(side), watch);
        } catch (const Error&) {
            watch.broke = true;
            throw;
        }
    };
}

}  // namespace requal::qualify
