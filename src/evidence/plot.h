// Static SVG plots for reports. No script, no outside resource; colours come from the page's CSS classes, so that the same plot
// serves light, dark and print. Equal data give equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace requal::evidence {

/// A vertical line with a label, at a value of the x axis.
struct Marker {
    double value = 0;
    std::string label;
    std::string css_class;  ///< "marker" or "limit"
};

/// Counts by decade of a positive quantity, on a logarithmic count axis, with the exact zeros as a bar of their own at the left.
struct DecadePlot {
    std::string id;           ///< unique in the page; letters, digits and '-'
    std::string title;        ///< accessible name
    std::string description;  ///< what is to be seen, for people who do not see it
    std::string x_label;
    std::uint64_t zeros = 0;
    std::vector<std::pair<int, std::uint64_t>>
        decades;                  ///< (d, count): 10^d <= x < 10^(d+1); ascending
    std::vector<Marker> markers;  ///< values > 0
};
std::string svg_of(const DecadePlot& plot);
/// The least decade also holds all that is smaller (measure/numerics/difference.h).
inline constexpr int lowest_decade = -20;
/// "1e-7 to 1e-6"; "below 1e-19" for the least.
std::string decade_text(int decade);

/// Counts in equal bins from `low` in steps of `width`, on a linear count axis; markers beyond the axis are named at its edge.
struct HistogramPlot {
    std::string id;
    std::string title;
    std::string description;
    std::string x_label;
    std::string y_label = "runs";  ///< what is counted
    double low = 0;
    double width = 0;  ///< 0: all in one value
    std::vector<std::uint64_t> counts;
    std::uint64_t above = 0;  ///< beyond the last bin
    std::vector<Marker> markers;
};
std::string svg_of(const HistogramPlot& plot);

}  // namespace requal::evidence
