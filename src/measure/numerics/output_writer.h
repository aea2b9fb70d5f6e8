// Outputs of a run saved as a folder: one npz a sample and samples.json, complete or not there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/inputs.h"
#include "data/sample_list.h"
#include "measure/numerics/parity.h"

namespace requal::measure {

/// Writes into a hidden folder beside `folder`, which gets its name in commit(). Without commit() nothing stays.
class OutputWriter {
public:
    /// Error(input) when `folder` exists and `replace` is false, or when it exists and does not hold saved outputs (no samples.json):
    /// other people's files are never removed.
    OutputWriter(const std::string& folder, bool replace);
    ~OutputWriter();
    OutputWriter(const OutputWriter&) = delete;
    OutputWriter& operator=(const OutputWriter&) = delete;

    void add(const std::string& sample_name, const Digest& inputs_digest,
             const NamedTensors& outputs);
    /// Writes samples.json (schema samples/1) and puts the folder in place. Returns {"path", "digest", "files"}.
    Json commit(const Json& runnable, const Json& inputs);

private:
    std::string folder_;
    std::string working_;
    std::vector<std::string> made_;  ///< parents that were not there before
    bool replace_ = false;
    bool committed_ = false;
    std::vector<data::SavedSample> samples_;
    Json outputs_ = Json::array();
};

/// A side that also saves what comes out of it; commit the writer after the last sample.
class SavingSide final : public OutputSource {
public:
    SavingSide(std::unique_ptr<OutputSource> side, OutputWriter& writer,
               const data::InputSource& inputs)
        : side_(std::move(side)), writer_(writer), inputs_(inputs) {}
    NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) override;
    Json describe() const override { return side_->describe(); }
    std::optional<std::uint64_t> size() const override { return side_->size(); }
    std::optional<Digest> inputs_digest(std::uint64_t index) const override {
        return side_->inputs_digest(index);
    }

private:
    std::unique_ptr<OutputSource> side_;
    OutputWriter& writer_;
    const data::InputSource& inputs_;
};

}  // namespace requal::measure
