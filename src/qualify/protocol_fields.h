// Fields that several parts of a protocol have; each refuses what it cannot be by file and line.
#pragma once

#include <cstdint>
#include <string>

#include "base/digest.h"
#include "base/yaml.h"
#include "qualify/protocol.h"

namespace requal::qualify {

/// Up to 64 lower-case letters, digits and '-'.
std::string identifier(const Yaml& node);
/// One line of text that is not empty.
std::string line_of_text(const Yaml& node);
/// "sha256:" and 64 hex digits.
Digest digest_at(const Yaml& node);
/// A finite number >= 0.
double bound(const Yaml& node);
/// Between `least` and 10^7.
std::uint64_t count(const Yaml& node, std::uint64_t least);

/// The member `data`; parts and slices go into `accuracy`.
LabelledDataRequest read_labelled_data(const Yaml& node, AccuracyGates& accuracy);
/// A gate of kind accuracy. Its reference is the protocol's: the word `reference`.
AccuracyCriterion read_accuracy_criterion(const Yaml& node, const std::string& rules_folder);

}  // namespace requal::qualify
