#include "measure/accuracy/box_match.h"

#include <algorithm>
#include <cmath>

namespace requal::measure {

namespace {

/// numpy.linspace(start, stop, count): start + i * step, the last one exactly stop.
template <std::size_t count>
std::array<double, count> linspace(double start, double stop) {
    std::array<double, count> values{};
    const double step = (stop - start) / static_cast<double>(count - 1);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<double>(i) * step + start;
    }
    values[count - 1] = stop;
    return values;
}

const std::array<double, recall_count>& recall_thresholds() {
    static const auto values = linspace<recall_count>(0.0, 1.0);
    return values;
}

/// A pair that overlaps enough for the least threshold.
struct Pair {
    std::uint32_t detection = 0;
    std::uint32_t object = 0;
    double overlap = 0;
};

/// One image's boxes of one category, and what matching them needs.
class GroupMatcher {
public:
    explicit GroupMatcher(std::span<const BoxView> views) : views_(views) {}

    void match(std::span<const LabelledBox> objects, std::size_t first_object,
               std::span<const DetectedBox> detections, std::vector<CategoryMatches>& into) {
        find_pairs(objects, detections);
        const std::uint32_t image = objects.empty() ? detections[0].image : objects[0].image;
        for (std::size_t v = 0; v < views_.size(); ++v) {
            match_view(views_[v], objects, first_object, detections, image, into[v]);
        }
    }

private:
    void find_pairs(std::span<const LabelledBox> objects, std::span<const DetectedBox> detections) {
        pairs_.clear();
        first_pair_.assign(detections.size() + 1, 0);
        for (std::uint32_t d = 0; d < detections.size(); ++d) {
            for (std::uint32_t g = 0; g < objects.size(); ++g) {
                const double value = overlap(detections[d], objects[g]);
                if (value >= iou_thresholds()[0]) {
                    pairs_.push_back({d, g, value});
                }
            }
            first_pair_[d + 1] = static_cast<std::uint32_t>(pairs_.size());
        }
    }

    void match_view(const BoxView& view, std::span<const LabelledBox> objects,
                    std::size_t first_object, std::span<const DetectedBox> detections,
                    std::uint32_t image, CategoryMatches& into) {
        if (!view.keep_image.empty() && view.keep_image[image] == 0) {
            return;
        }
        ignored_.assign(objects.size(), 0);
        std::uint32_t positives = 0;
        for (std::size_t g = 0; g < objects.size(); ++g) {
            const LabelledBox& object = objects[g];
            const bool outside = object.area < view.least_area ||
                                 object.area > view.greatest_area ||
                                 (!view.keep_box.empty() && view.keep_box[first_object + g] == 0);
            ignored_[g] = object.crowd || outside ? 1 : 0;
            positives += ignored_[g] == 0 ? 1U : 0U;
        }
        if (positives > 0) {
            into.positives.push_back({image, positives});
            into.objects += positives;
        }
        const std::size_t base = into.records.size();
        for (std::size_t d = 0; d < detections.size(); ++d) {
            MatchRecord record;
            record.image = image;
            record.rank = static_cast<std::uint8_t>(d);
            into.records.push_back(record);
        }
        if (!pairs_.empty()) {
            for (std::size_t t = 0; t < iou_count; ++t) {
                match_threshold(t, objects, detections.size(), &into.records[base]);
            }
        }
        for (std::size_t d = 0; d < detections.size(); ++d) {
            MatchRecord& record = into.records[base + d];
            const double area = detections[d].width * detections[d].height;
            if (area < view.least_area || area > view.greatest_area) {
                // those that match nothing
                record.ignored = static_cast<std::uint16_t>(
                    record.ignored | (~record.matched & ((1U << iou_count) - 1U)));
            }
        }
    }

    void match_threshold(std::size_t t, std::span<const LabelledBox> objects,
                         std::size_t detections, MatchRecord* records) {
        taken_.assign(objects.size(), 0);
        const double least = std::min(iou_thresholds()[t], 1 - 1e-10);
        const auto bit = static_cast<std::uint16_t>(1U << t);
        for (std::size_t d = 0; d < detections; ++d) {
            // objects that count come first, in file order; ignored ones are looked at only when none of those fits
            std::int64_t best = -1;
            for (const std::uint8_t wanted : {std::uint8_t{0}, std::uint8_t{1}}) {
                double reached = least;
                for (std::uint32_t p = first_pair_[d]; p < first_pair_[d + 1]; ++p) {
                    const std::uint32_t g = pairs_[p].object;
                    if (ignored_[g] != wanted || (taken_[g] != 0 && !objects[g].crowd) ||
                        pairs_[p].overlap < reached) {
                        continue;
                    }
                    reached = pairs_[p].overlap;
                    best = g;
                }
                if (best >= 0) {
                    break;
                }
            }
            if (best < 0) {
                continue;
            }
            const auto g = static_cast<std::size_t>(best);
            taken_[g] = 1;
            if (ignored_[g] != 0) {
                records[d].ignored = static_cast<std::uint16_t>(records[d].ignored | bit);
            }
            // pycocotools keeps the object's id as the mark of a match, so that an object with id 0 is never found
            if (objects[g].id != 0) {
                records[d].matched = static_cast<std::uint16_t>(records[d].matched | bit);
            }
        }
    }

    std::span<const BoxView> views_;
    std::vector<Pair> pairs_;
    std::vector<std::uint32_t> first_pair_;
    std::vector<std::uint8_t> ignored_, taken_;
};

}  // namespace

const std::array<double, iou_count>& iou_thresholds() {
    static const auto values = linspace<iou_count>(0.5, 0.95);
    return values;
}

double overlap(const DetectedBox& detection, const LabelledBox& object) {
    const double width = std::fmin(detection.width + detection.x, object.width + object.x) -
                         std::fmax(detection.x, object.x);
    if (width <= 0) {
        return 0;
    }
    const double height = std::fmin(detection.height + detection.y, object.height + object.y) -
                          std::fmax(detection.y, object.y);
    if (height <= 0) {
        return 0;
    }
    const double common = width * height;
    const double own = detection.width * detection.height;
    return common / (object.crowd ? own : own + object.width * object.height - common);
}

std::vector<CategoryMatches> match_category(const LabelledBoxes& set,
                                            const DetectedBoxes& detections, std::uint32_t category,
                                            std::span<const BoxView> views) {
    std::vector<CategoryMatches> result(views.size());
    const auto by_category = [](const auto& box, std::uint32_t value) {
        return box.category < value;
    };
    const auto g_begin =
        std::lower_bound(set.boxes.begin(), set.boxes.end(), category, by_category);
    const auto g_end = std::lower_bound(g_begin, set.boxes.end(), category + 1, by_category);
    const auto d_begin =
        std::lower_bound(detections.boxes.begin(), detections.boxes.end(), category, by_category);
    const auto d_end = std::lower_bound(d_begin, detections.boxes.end(), category + 1, by_category);
    for (CategoryMatches& matches : result) {
        matches.records.reserve(static_cast<std::size_t>(d_end - d_begin));
    }
    GroupMatcher matcher(views);
    auto g = g_begin;
    auto d = d_begin;
    while (g != g_end || d != d_end) {
        const std::uint32_t image = g == g_end   ? d->image
                                    : d == d_end ? g->image
                                                 : std::min(g->image, d->image);
        const auto g_first = g;
        const auto d_first = d;
        while (g != g_end && g->image == image) {
            ++g;
        }
        while (d != d_end && d->image == image) {
            ++d;
        }
        matcher.match({g_first, g}, static_cast<std::size_t>(g_first - set.boxes.begin()),
                      {d_first, d}, result);
    }
    // the category's detections by score, equal ones in the order of images
    struct Key {
        double score;
        std::uint32_t index;
    };
    std::vector<Key> order;
    bool order_of_all = false;  // views of all images share their order
    for (std::size_t v = 0; v < views.size(); ++v) {
        CategoryMatches& matches = result[v];
        const std::vector<std::uint8_t>& keep = views[v].keep_image;
        if (!keep.empty() || !order_of_all) {
            order.clear();
            for (auto it = d_begin; it != d_end; ++it) {
                if (keep.empty() || keep[it->image] != 0) {
                    order.push_back({it->score, static_cast<std::uint32_t>(order.size())});
                }
            }
            std::stable_sort(order.begin(), order.end(),
                             [](const Key& a, const Key& b) { return a.score > b.score; });
            order_of_all = keep.empty();
        }
        std::vector<MatchRecord> sorted;
        sorted.reserve(order.size());
        for (const Key& key : order) {
            sorted.push_back(matches.records[key.index]);
        }
        matches.records = std::move(sorted);
    }
    return result;
}

CategoryScores score_category(const CategoryMatches& matches,
                              std::span<const std::uint32_t> weights, ScoreScratch& scratch) {
    CategoryScores scores;
    std::uint64_t positives = 0;
    for (const PositiveCount& entry : matches.positives) {
        positives += std::uint64_t{entry.count} * (weights.empty() ? 1U : weights[entry.image]);
    }
    if (positives == 0) {
        return scores;
    }
    const auto all = static_cast<double>(positives);
    double ap_sum = 0, recall_sum[3] = {0, 0, 0};
    for (std::size_t t = 0; t < iou_count; ++t) {
        // only the places at which something is found decide: precision falls between them
        scratch.found.clear();
        scratch.precision.clear();
        std::uint64_t found = 0, wrong = 0, found_of_rank[2] = {0, 0};
        for (const MatchRecord& record : matches.records) {
            const std::uint64_t weight = weights.empty() ? 1U : weights[record.image];
            if (weight == 0 || (record.ignored >> t & 1U) != 0) {
                continue;
            }
            if ((record.matched >> t & 1U) == 0) {
                wrong += weight;
                continue;
            }
            found += weight;
            found_of_rank[0] += record.rank < 1 ? weight : 0;
            found_of_rank[1] += record.rank < 10 ? weight : 0;
            const auto hits = static_cast<double>(found);
            scratch.found.push_back(hits / all);
            scratch.precision.push_back(hits / (static_cast<double>(wrong) + hits +
                                                std::numeric_limits<double>::epsilon()));
        }
        for (std::size_t i = scratch.precision.size(); i-- > 1;) {
            scratch.precision[i - 1] = std::max(scratch.precision[i - 1], scratch.precision[i]);
        }
        double sum = 0;
        std::size_t at = 0;
        for (const double recall : recall_thresholds()) {
            while (at < scratch.found.size() && scratch.found[at] < recall) {
                ++at;
            }
            if (at == scratch.found.size()) {
                break;
            }
            sum += scratch.precision[at];
        }
        const double ap = sum / static_cast<double>(recall_count);
        ap_sum += ap;
        if (t == 0) {
            scores.ap50 = ap;
        } else if (t == 5) {
            scores.ap75 = ap;
        }
        recall_sum[0] += static_cast<double>(found_of_rank[0]) / all;
        recall_sum[1] += static_cast<double>(found_of_rank[1]) / all;
        recall_sum[2] += static_cast<double>(found) / all;
    }
    scores.ap50_95 = ap_sum / static_cast<double>(iou_count);
    scores.ar1 = recall_sum[0] / static_cast<double>(iou_count);
    scores.ar10 = recall_sum[1] / static_cast<double>(iou_count);
    scores.ar100 = recall_sum[2] / static_cast<double>(iou_count);
    return scores;
}

}  // namespace requal::measure
