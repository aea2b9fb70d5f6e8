#include "data/labelled_inputs.h"

#include <algorithm>

#include "base/error.h"
#include "data/sample_list.h"
#include "tensor/npy.h"

namespace requal::data {

namespace {

/// `row` with one more axis of 1 in front.
Tensor as_batch(Tensor row) {
    Shape shape = row.shape();
    shape.insert(shape.begin(), 1);
    if (row.type() == ElementType::string) {
        Tensor result(ElementType::string, shape);
        result.strings() = std::move(row.strings());
        return result;
    }
    const ElementType type = row.type();
    const auto owner = std::make_shared<const Tensor>(std::move(row));
    return {type, std::move(shape), owner->bytes(), owner};
}

class LabelledInputs final : public InputSource {
public:
    LabelledInputs(const DataPart& part, std::vector<InputPort> ports)
        : path_(part.source.labels), digest_(part.labels_digest), ports_(std::move(ports)) {
        for (const LabelledSample& sample : part.samples) {
            rows_.emplace_back(static_cast<std::uint64_t>(sample.id - 1), sample.name);
        }
        const NpzReader npz(path_);
        for (const std::string& name : npz.names()) {
            if (name != "labels" && name != "names") {
                arrays_.emplace_back(name, std::make_shared<const Tensor>(npz.read(name)));
            }
        }
        const std::uint64_t count = npz.read("labels").count();
        for (const auto& [name, array] : arrays_) {
            if (array->shape().empty() ||
                static_cast<std::uint64_t>(array->shape().front()) != count) {
                throw Error(ErrorKind::input,
                            "shape " + text_of(array->shape()) + " where there are " +
                                std::to_string(count) + " labels",
                            path_ + ", array '" + name + "'", "the first axis counts samples");
            }
        }
        if (!rows_.empty()) {
            sample(0);  // what is wrong with all of them is said before a runtime works
        }
    }

    std::uint64_t size() const override { return rows_.size(); }
    NamedTensors sample(std::uint64_t index) const override {
        NamedTensors result;
        for (const auto& [name, array] : arrays_) {
            Tensor row = row_of(array, rows_.at(index).first);
            const auto port = std::find_if(ports_.begin(), ports_.end(),
                                           [&n = name](const InputPort& p) { return p.name == n; });
            const bool batch = port != ports_.end() && port->shape.size() == array->shape().size();
            result.emplace_back(name, batch ? as_batch(std::move(row)) : std::move(row));
        }
        check_sample(result, ports_, path_);
        return result;
    }
    std::string sample_name(std::uint64_t index) const override { return rows_.at(index).second; }
    Json describe() const override {
        Json result = Json::object();
        result["kind"] = "labelled-npz";
        result["path"] = path_;
        result["digest"] = digest_.text();
        result["samples"] = size();
        return result;
    }

private:
    std::string path_;
    Digest digest_;
    std::vector<InputPort> ports_;
    std::vector<std::pair<std::uint64_t, std::string>> rows_;  // number in the file, name
    std::vector<std::pair<std::string, std::shared_ptr<const Tensor>>> arrays_;
};

}  // namespace

bool may_be_labelled_arrays(const std::string& path) {
    if (path.ends_with(".yaml") || path.ends_with(".yml")) {
        return true;
    }
    return path.ends_with(".npz") && NpzReader(path).has("labels");
}

std::unique_ptr<InputSource> labelled_inputs(const DataPart& part, std::vector<InputPort> ports) {
    if (part.source.format != LabelFormat::npz) {
        throw Error(ErrorKind::input, "holds pictures", part.source.root,
                    "give --preprocess SPEC, which says how they become inputs");
    }
    return std::make_unique<LabelledInputs>(part, std::move(ports));
}

}  // namespace requal::data
