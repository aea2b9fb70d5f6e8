#include "qualify/accuracy/accuracy_plots.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "evidence/plot_accuracy.h"

namespace requal::qualify {

namespace {

using measure::Evaluation;
using measure::MetricEstimate;
using measure::SliceResult;

constexpr std::uint64_t largest_picture = 8'000'000;
constexpr std::size_t most_rows = 200;

/// The one number by which a slice is drawn.
const MetricEstimate* main_metric(const SliceResult& slice) {
    for (const char* name : {"ap50_95", "recall", "iou", "top1"}) {
        if (const MetricEstimate* metric = slice.find(name)) {
            return metric;
        }
    }
    return nullptr;
}

std::string count_text(const MetricEstimate& metric) {
    return "n = " + std::to_string(metric.n);
}

class PlotWriter {
public:
    PlotWriter(const Evaluation& evaluation, const AccuracyGates* gates, std::string images,
               std::string folder)
        : evaluation_(evaluation), gates_(gates), images_(std::move(images)),
          folder_(std::move(folder)) {}

    void classes() {
        evidence::IntervalPlot plot;
        plot.id = "classes";
        std::string metric_name;
        for (const SliceResult& slice : evaluation_.slices) {
            const MetricEstimate* metric = main_metric(slice);
            if (slice.name.size() != 1 || slice.name[0].first != "class" || metric == nullptr ||
                plot.rows.size() >= most_rows) {
                continue;
            }
            metric_name = metric->name;
            evidence::IntervalRow row;
            row.label = slice.name[0].second;
            row.hint = count_text(*metric);
            row.value = evaluation_.paired ? metric->retention : metric->candidate;
            const measure::Interval& interval =
                evaluation_.paired ? metric->retention_interval : metric->value_interval;
            row.low = interval.low;
            row.high = interval.high;
            plot.rows.push_back(std::move(row));
        }
        if (plot.rows.empty()) {
            return;
        }
        plot.x_label = evaluation_.paired ? "retention of " + metric_name : metric_name;
        plot.title = evaluation_.paired ? "Retention of " + metric_name + " by class"
                                        : metric_name + " by class";
        plot.description = "One row a class: the number as a dot, its interval as a line.";
        if (evaluation_.paired) {
            plot.markers.push_back({1, "", "marker"});
            for (const AccuracyGate& gate :
                 gates_ != nullptr ? gates_->gates : std::vector<AccuracyGate>{}) {
                if (gate.kind == AccuracyGateKind::no_collapse) {
                    plot.markers.push_back({gate.min_retention, gate.id, "limit"});
                } else if (gate.kind == AccuracyGateKind::min_retention &&
                           gate.slice_by == "class" && gate.metric == metric_name) {
                    plot.markers.push_back({gate.limit, gate.id, "limit"});
                }
            }
        }
        save("classes.svg", svg_of(plot));
    }

    void bands() {
        std::map<std::string, std::vector<const SliceResult*>> by;
        for (const SliceResult& slice : evaluation_.slices) {
            if (slice.name.size() == 1 && slice.name[0].first != "class" &&
                slice.name[0].first != "tag" && main_metric(slice) != nullptr) {
                by[slice.name[0].first].push_back(&slice);
            }
        }
        std::size_t number = 0;
        for (const auto& [name, slices] : by) {
            ++number;
            evidence::BandPlot plot;
            plot.id = "bands-" + std::to_string(number);
            plot.x_label = name;
            plot.y_label = main_metric(*slices[0])->name;
            plot.title = plot.y_label + " over " + name;
            plot.description = "One point a range; where both sides are there, one line each.";
            evidence::BandSeries reference{"reference", "first", {}};
            evidence::BandSeries candidate{"candidate", "second", {}};
            for (const SliceResult* slice : slices) {
                const MetricEstimate& metric = *main_metric(*slice);
                plot.bands.push_back(slice->name[0].second);
                const double none = std::numeric_limits<double>::quiet_NaN();
                reference.points.push_back(
                    {slice->name[0].second, metric.reference, none, none, count_text(metric)});
                candidate.points.push_back({slice->name[0].second, metric.candidate,
                                            metric.value_interval.low, metric.value_interval.high,
                                            count_text(metric)});
            }
            if (evaluation_.paired) {
                plot.series.push_back(std::move(reference));
            }
            plot.series.push_back(std::move(candidate));
            save("bands-" + std::to_string(number) + ".svg", svg_of(plot));
        }
    }

    void confusion() {
        const Json& confusion = evaluation_.extra.get("confusion");
        if (confusion.is_null() || !confusion.has("reference") ||
            confusion.at("classes").size() > 300) {
            return;
        }
        evidence::MatrixPlot plot;
        plot.id = "confusion";
        plot.title = "Candidate minus reference: labels by predictions";
        plot.description = "Green: more right or fewer wrong ones; red: the opposite.";
        plot.x_label = "predicted";
        plot.y_label = "label";
        for (const Json& name : confusion.at("classes").as_array()) {
            plot.names.push_back(name.as_string());
        }
        const auto& after = confusion.at("candidate").as_array();
        const auto& before = confusion.at("reference").as_array();
        for (std::size_t r = 0; r < after.size(); ++r) {
            plot.cells.emplace_back();
            for (std::size_t c = 0; c < after.size(); ++c) {
                plot.cells.back().push_back(after[r].as_array()[c].as_number() -
                                            before[r].as_array()[c].as_number());
            }
        }
        save("confusion-difference.svg", svg_of(plot));
    }

    void scores() {
        const Json& scores = evaluation_.extra.get("scores");
        if (scores.is_null()) {
            return;
        }
        for (const char* side : {"reference", "candidate"}) {
            if (!scores.has(side)) {
                continue;
            }
            evidence::HistogramPlot plot;
            plot.id = std::string("scores-") + side;
            plot.title = std::string("Scores of the ") + side;
            plot.description = "How often each range of scores occurs.";
            plot.x_label = "score";
            plot.y_label = evaluation_.task == "detection" ? "boxes" : "samples";
            plot.low = scores.at("low").as_number();
            plot.width = scores.at("width").as_number();
            for (const Json& count : scores.at(side).as_array()) {
                plot.counts.push_back(static_cast<std::uint64_t>(count.as_integer()));
            }
            save(std::string("scores-") + side + ".svg", svg_of(plot));
        }
    }

    void gallery(std::size_t most) {
        if (evaluation_.flips.is_null() || evaluation_.task != "detection") {
            return;
        }
        std::size_t number = 0;
        for (const Json& sample : evaluation_.flips.at("samples").as_array()) {
            if (number == most) {
                return;
            }
            ++number;
            evidence::BoxPicture picture;
            picture.id = "flip-" + std::to_string(number);
            picture.title =
                sample.at("change").as_string() + ": " + sample.at("sample").as_string();
            picture.description =
                "The labelled object, the reference's box and the candidate's (dashed).";
            if (sample.has("size")) {
                picture.width = sample.at("size").as_array()[0].as_number();
                picture.height = sample.at("size").as_array()[1].as_number();
            }
            picture.data_uri = picture_of(sample.at("sample").as_string(), picture.width);
            add_box(picture, sample, "object", "truth");
            add_box(picture, sample, "reference", "first");
            add_box(picture, sample, "candidate", "second");
            save("flip-" + std::to_string(number) + ".svg", svg_of(picture));
        }
    }

    std::vector<std::string> files;

private:
    void save(const std::string& name, const std::string& svg) {
        if (files.empty()) {
            make_folders(folder_);
        }
        write_file_atomically(folder_ + "/" + name, evidence::standalone_svg(svg));
        files.push_back(name);
    }

    /// Bytes of the picture as they are; without a size there is no place to put it.
    std::string picture_of(const std::string& name, double width) const {
        if (images_.empty() || !(width > 0)) {
            return {};
        }
        try {
            const std::string path = path_inside(images_, name);
            if (!file_exists(path) || file_size(path) > largest_picture) {
                return {};
            }
            return evidence::picture_uri(read_file(path, largest_picture));
        } catch (const Error& error) {
            log_warning("no picture behind a flip: " + std::string(error.what()));
            return {};
        }
    }

    static void add_box(evidence::BoxPicture& picture, const Json& sample, const char* key,
                        const char* css_class) {
        if (!sample.has(key)) {
            return;
        }
        const Json& of = sample.at(key);
        const auto& box = of.at("bbox").as_array();
        evidence::DrawnBox drawn;
        drawn.x = box[0].as_number();
        drawn.y = box[1].as_number();
        drawn.width = box[2].as_number();
        drawn.height = box[3].as_number();
        drawn.css_class = css_class;
        drawn.label = of.at("class").as_string();
        if (of.has("score")) {
            drawn.label += " " + readable(of.at("score").as_number(), 3);
        }
        picture.boxes.push_back(std::move(drawn));
    }

    const Evaluation& evaluation_;
    const AccuracyGates* gates_;
    std::string images_, folder_;
};

}  // namespace

std::vector<std::string> write_accuracy_plots(const Evaluation& evaluation,
                                              const AccuracyGates* gates, const std::string& images,
                                              const std::string& folder, std::size_t gallery) {
    PlotWriter writer(evaluation, gates, images, folder);
    writer.classes();
    writer.bands();
    writer.confusion();
    writer.scores();
    writer.gallery(gallery);
    return std::move(writer.files);
}

}  // namespace requal::qualify
