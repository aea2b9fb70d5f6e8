// The member `data` of a protocol, and its gates of kind accuracy.
#include "base/error.h"
#include "base/text.h"
#include "qualify/protocol_fields.h"

namespace requal::qualify {

namespace {

/// {file, digest}: a spec is bound by its bytes.
std::pair<std::string, Digest> bound_file(const Yaml& node) {
    node.allow_keys({"file", "digest"});
    return {line_of_text(node.at("file")), digest_at(node.at("digest"))};
}

}  // namespace

LabelledDataRequest read_labelled_data(const Yaml& node, AccuracyGates& accuracy) {
    node.allow_keys(
        {"dataset", "preprocess", "decoder", "parts", "slices", "score_threshold", "intervals"});
    LabelledDataRequest data;
    data.dataset = line_of_text(node.at("dataset"));
    std::tie(data.preprocess, data.preprocess_digest) = bound_file(node.at("preprocess"));
    std::tie(data.decoder, data.decoder_digest) = bound_file(node.at("decoder"));
    const Yaml& parts = node.at("parts");
    for (const Yaml& item : parts.items()) {
        LabelledDataRequest::Part part;
        part.name = line_of_text(item.at("name"));
        part.labels = digest_at(item.at("labels"));
        if (const Yaml* list = item.find("list")) {
            part.list = digest_at(*list);
        }
        data.parts.push_back(std::move(part));
    }
    accuracy.parts = read_data_parts(parts);
    if (const Yaml* slices = node.find("slices")) {
        accuracy.slices = measure::read_slices(*slices);
    }
    if (const Yaml* threshold = node.find("score_threshold")) {
        data.score_threshold = bound(*threshold);
    } else {
        data.score_threshold = -1;
    }
    const Yaml& intervals = node.at("intervals");
    intervals.allow_keys({"resamples", "seed", "confidence"});
    data.intervals.replicates = count(intervals.at("resamples"), 100);
    data.intervals.seed = static_cast<std::uint64_t>(intervals.at("seed").integer());
    data.intervals.confidence = intervals.at("confidence").number();
    if (!(data.intervals.confidence > 0 && data.intervals.confidence < 1)) {
        intervals.at("confidence").fail("must lie between 0 and 1");
    }
    return data;
}

AccuracyCriterion read_accuracy_criterion(const Yaml& node, const std::string& rules_folder) {
    AccuracyCriterion criterion;
    criterion.gates = read_accuracy_gate(node, rules_folder);
    if (node.at("reference").text() != "reference") {
        node.at("reference")
            .fail("'" + printable(node.at("reference").text()) + "' is no side of a protocol",
                  "write reference: reference, the side that the protocol describes");
    }
    return criterion;
}

}  // namespace requal::qualify
