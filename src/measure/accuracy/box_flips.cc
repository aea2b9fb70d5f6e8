#include "measure/accuracy/box_flips.h"

#include <algorithm>

#include "base/cancel.h"
#include "measure/accuracy/box_match.h"

namespace requal::measure {

namespace {

constexpr double same_place = 0.5;
constexpr std::uint32_t nobody = 0xffffffffU;

/// Indices of what lies in each image.
template <typename Box, typename Keep>
std::vector<std::vector<std::uint32_t>> by_image(const std::vector<Box>& boxes, std::size_t images,
                                                 const Keep& keep) {
    std::vector<std::vector<std::uint32_t>> result(images);
    for (std::uint32_t i = 0; i < boxes.size(); ++i) {
        if (keep(boxes[i])) {
            result[boxes[i].image].push_back(i);
        }
    }
    return result;
}

LabelledBox as_object(const DetectedBox& box) {
    LabelledBox object;
    object.x = box.x;
    object.y = box.y;
    object.width = box.width;
    object.height = box.height;
    return object;
}

class FlipFinder {
public:
    FlipFinder(const LabelledBoxes& set, const DetectedBoxes& reference,
               const DetectedBoxes& candidate, double threshold)
        : labelled(set), detected{&reference, &candidate} {
        const auto decided = [&](const DetectedBox& box) { return box.score >= threshold; };
        objects_ = by_image(set.boxes, set.images.size(),
                            [](const LabelledBox& box) { return !box.crowd; });
        for (int s = 0; s < 2; ++s) {
            decisions_[s] = by_image(detected[s]->boxes, set.images.size(), decided);
            found_by[s].assign(set.boxes.size(), nobody);
            for (auto& list : decisions_[s]) {
                std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
                    return detected[s]->boxes[a].score > detected[s]->boxes[b].score;
                });
            }
        }
    }

    void image(std::uint32_t i) {
        for (int s = 0; s < 2; ++s) {
            find_objects(s, i);
        }
        pair_decisions(i);
    }

    struct Sample {
        const char* change;
        std::uint32_t image;
        std::uint32_t object;  ///< nobody: none
        std::uint32_t box[2];  ///< of reference and candidate
        double weight;         ///< how sure the side was that differs
    };

    const LabelledBoxes& labelled;
    const DetectedBoxes* detected[2];
    std::vector<std::uint32_t> found_by[2];
    std::uint64_t appeared = 0, disappeared = 0, class_changed = 0, pairs = 0;
    std::vector<Sample> samples;

private:
    std::vector<std::vector<std::uint32_t>> objects_, decisions_[2];

    void find_objects(int s, std::uint32_t i) {
        for (const std::uint32_t d : decisions_[s][i]) {
            const DetectedBox& box = detected[s]->boxes[d];
            double reached = same_place;
            std::uint32_t best = nobody;
            for (const std::uint32_t g : objects_[i]) {
                if (labelled.boxes[g].category != box.category || found_by[s][g] != nobody) {
                    continue;
                }
                const double value = overlap(box, labelled.boxes[g]);
                if (value >= reached) {
                    reached = value;
                    best = g;
                }
            }
            if (best != nobody) {
                found_by[s][best] = d;
            }
        }
    }

    void pair_decisions(std::uint32_t i) {
        const auto& before = decisions_[0][i];
        const auto& after = decisions_[1][i];
        std::vector<std::uint32_t> partner(before.size(), nobody);
        std::vector<std::uint8_t> taken(after.size(), 0);
        for (const bool same_class : {true, false}) {
            for (std::size_t a = 0; a < before.size(); ++a) {
                if (partner[a] != nobody) {
                    continue;
                }
                const DetectedBox& box = detected[0]->boxes[before[a]];
                const LabelledBox place = as_object(box);
                double reached = same_place;
                for (std::uint32_t b = 0; b < after.size(); ++b) {
                    const DetectedBox& other = detected[1]->boxes[after[b]];
                    if (taken[b] != 0 || (other.category == box.category) != same_class) {
                        continue;
                    }
                    const double value = overlap(other, place);
                    if (value > reached || (value == reached && partner[a] == nobody)) {
                        reached = value;
                        partner[a] = b;
                    }
                }
                if (partner[a] == nobody) {
                    continue;
                }
                taken[partner[a]] = 1;
                ++pairs;
                if (!same_class) {
                    ++class_changed;
                    const std::uint32_t b = after[partner[a]];
                    samples.push_back({"class-changed",
                                       i,
                                       nobody,
                                       {before[a], b},
                                       std::min(box.score, detected[1]->boxes[b].score)});
                }
            }
        }
        for (std::size_t a = 0; a < before.size(); ++a) {
            if (partner[a] == nobody) {
                ++disappeared;
                samples.push_back({"disappeared",
                                   i,
                                   nobody,
                                   {before[a], nobody},
                                   detected[0]->boxes[before[a]].score});
            }
        }
        for (std::size_t b = 0; b < after.size(); ++b) {
            if (taken[b] == 0) {
                ++appeared;
                samples.push_back({"appeared",
                                   i,
                                   nobody,
                                   {nobody, after[b]},
                                   detected[1]->boxes[after[b]].score});
            }
        }
    }
};

Json box_json(const LabelledBoxes& set, const DetectedBoxes& side, std::uint32_t index) {
    const DetectedBox& box = side.boxes[index];
    return Json::object({{"class", set.categories[box.category].name},
                         {"score", box.score},
                         {"bbox", Json::array({box.x, box.y, box.width, box.height})}});
}

Json sample_json(const FlipFinder& finder, const FlipFinder::Sample& sample) {
    const LabelledImage& image = finder.labelled.images[sample.image];
    Json entry =
        Json::object({{"change", sample.change}, {"sample", image.name}, {"image_id", image.id}});
    if (image.width > 0 && image.height > 0) {
        entry["size"] = Json::array({image.width, image.height});
    }
    if (sample.object != nobody) {
        const LabelledBox& object = finder.labelled.boxes[sample.object];
        entry["object"] = Json::object(
            {{"id", object.id},
             {"class", finder.labelled.categories[object.category].name},
             {"bbox", Json::array({object.x, object.y, object.width, object.height})}});
    }
    for (int s = 0; s < 2; ++s) {
        if (sample.box[s] != nobody) {
            entry[s == 0 ? "reference" : "candidate"] =
                box_json(finder.labelled, *finder.detected[s], sample.box[s]);
        }
    }
    return entry;
}

}  // namespace

BoxFlips find_box_flips(const LabelledBoxes& set, const DetectedBoxes& reference,
                        const DetectedBoxes& candidate, double threshold, std::size_t most_samples,
                        double confidence) {
    FlipFinder finder(set, reference, candidate, threshold);
    for (std::uint32_t i = 0; i < set.images.size(); ++i) {
        if (i % 1024 == 0) {
            throw_if_cancelled();
        }
        finder.image(i);
    }
    BoxFlips result;
    result.of_object.assign(set.boxes.size(), 0);
    std::uint64_t gained = 0, lost = 0;
    for (std::uint32_t g = 0; g < set.boxes.size(); ++g) {
        if (set.boxes[g].crowd) {
            continue;
        }
        ++result.objects;
        const std::uint32_t before = finder.found_by[0][g], after = finder.found_by[1][g];
        if ((before == nobody) == (after == nobody)) {
            continue;
        }
        const bool gain = before == nobody;
        (gain ? gained : lost) += 1;
        result.of_object[g] = gain ? 1 : -1;
        finder.samples.push_back(
            {gain ? "gained" : "lost",
             set.boxes[g].image,
             g,
             {before, after},
             1 + (gain ? candidate.boxes[after].score : 2 + reference.boxes[before].score)});
    }
    // lost objects first, then gained ones, then boxes without an object; the surest first
    std::stable_sort(finder.samples.begin(), finder.samples.end(),
                     [](const auto& a, const auto& b) { return a.weight > b.weight; });
    Json& document = result.document;
    const std::uint64_t gross = finder.appeared + finder.disappeared + finder.class_changed;
    const std::uint64_t decisions = finder.pairs + finder.appeared + finder.disappeared;
    document =
        Json::object({{"gained", gained},
                      {"lost", lost},
                      {"net", static_cast<std::int64_t>(gained) - static_cast<std::int64_t>(lost)},
                      {"objects", result.objects},
                      {"gross", gross},
                      {"decisions", decisions},
                      {"appeared", finder.appeared},
                      {"disappeared", finder.disappeared},
                      {"class_changed", finder.class_changed},
                      {"score_threshold", threshold},
                      {"iou", same_place},
                      {"samples_total", static_cast<std::uint64_t>(finder.samples.size())},
                      {"samples", Json::array()}});
    const Interval share = share_interval(lost, result.objects, confidence);
    if (share.known()) {
        document["lost_share"] = static_cast<double>(lost) / static_cast<double>(result.objects);
        document["lost_share_ci_low"] = share.low;
        document["lost_share_ci_high"] = share.high;
    }
    if (decisions > 0) {
        document["gross_share"] = static_cast<double>(gross) / static_cast<double>(decisions);
    }
    for (std::size_t i = 0; i < finder.samples.size() && i < most_samples; ++i) {
        document["samples"].push_back(sample_json(finder, finder.samples[i]));
    }
    return result;
}

}  // namespace requal::measure
