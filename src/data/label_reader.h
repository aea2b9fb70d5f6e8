// What the readers of the label formats share; the formats are in labels_coco.cc, labels_csv.cc and dataset_labels.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "data/dataset.h"

namespace requal::data {

constexpr JsonLimits label_limits{std::size_t{1} << 30, 100, 64'000'000};

/// A part while its labels are read.
struct LabelReader {
    const DataSetSpec& spec;
    Findings& findings;
    DataPart part;

    void error(const std::string& kind, const std::string& where, const std::string& message) {
        findings.add(true, kind, where, message);
    }
    void warning(const std::string& kind, const std::string& where, const std::string& message) {
        findings.add(false, kind, where, message);
    }
    /// The picture's path, or nothing (and a finding) when its name leaves the folder.
    std::optional<std::string> path_of(const std::string& name, const std::string& where);
    /// The classes that the spec names become the categories.
    void given_classes();
    /// Of a class by its name; -1 (and a finding) when the spec names classes and this is none.
    std::int64_t class_id(const std::string& name, const std::string& where);
};

void read_coco(LabelReader& reader);
void read_csv(LabelReader& reader);

}  // namespace requal::data
