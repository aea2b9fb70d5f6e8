#include "evidence/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "evidence/html.h"

namespace requal::evidence {

namespace {

// All plots share one frame, in user units of the viewBox.
constexpr double plot_width = 640;
constexpr double plot_height = 330;
constexpr double left = 64;
constexpr double right = 16;
constexpr std::size_t label_rows = 4;
constexpr double row_height = 15;
constexpr double top = 22 + row_height * label_rows;
constexpr double bottom = 52;
constexpr double inner_width = plot_width - left - right;
constexpr double inner_height = plot_height - top - bottom;
constexpr int most_decades = 400;

/// One decimal is a tenth of a unit: finer than any screen or printer shows here, and stable as text.
std::string at(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::string open_svg(const std::string& id, const std::string& title,
                     const std::string& description) {
    return "<svg viewBox=\"0 0 " + at(plot_width) + " " + at(plot_height) +
           "\" role=\"img\" aria-labelledby=\"" + id + "-title " + id + "-desc\">\n<title id=\"" +
           id + "-title\">" + html_text(title) + "</title>\n<desc id=\"" + id + "-desc\">" +
           html_text(description) + "</desc>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* css_class) {
    return "<line class=\"" + std::string(css_class) + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) +
           "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\"/>\n";
}

std::string text(double x, double y, const char* anchor, const std::string& content,
                 const char* css_class = "axis-text") {
    return "<text class=\"" + std::string(css_class) + "\" x=\"" + at(x) + "\" y=\"" + at(y) +
           "\" text-anchor=\"" + anchor + "\">" + html_text(content) + "</text>\n";
}

std::string bar(double x, double width, double height, const std::string& hint,
                const char* css_class = "bar") {
    return "<rect class=\"" + std::string(css_class) + "\" x=\"" + at(x) + "\" y=\"" +
           at(top + inner_height - height) + "\" width=\"" + at(std::max(width, 0.5)) +
           "\" height=\"" + at(height) + "\"><title>" + html_text(hint) + "</title></rect>\n";
}

std::string axes(const std::string& x_label, const std::string& y_label) {
    std::string svg =
        line(left, top + inner_height, left + inner_width, top + inner_height, "axis");
    svg += text(left + inner_width / 2, plot_height - 10, "middle", x_label, "axis-label");
    svg += text(4, 14, "start", y_label, "axis-label");
    return svg;
}

/// Lines first, so that no line crosses a label. Each label takes the lowest row in which it covers no other.
std::string markers_of(const std::vector<std::pair<double, Marker>>& placed) {
    constexpr double letter_width = 6.8;
    std::string lines;
    std::string labels;
    std::array<std::vector<std::pair<double, double>>, label_rows> taken;
    for (const auto& [x, marker] : placed) {
        const double width = letter_width * static_cast<double>(marker.label.size()) + 10;
        const bool leftwards = x + width > plot_width;
        const double from = leftwards ? x - width : x;
        std::size_t row = 0;
        while (row + 1 < taken.size() &&
               std::any_of(taken[row].begin(), taken[row].end(), [&](const auto& other) {
                   return from < other.second && other.first < from + width;
               })) {
            ++row;
        }
        taken[row].emplace_back(from, from + width);
        const double y = top - 6 - row_height * static_cast<double>(row);
        lines += line(x, y - row_height + 4, x, top + inner_height,
                      marker.css_class == "limit" ? "limit" : "marker");
        labels += text(leftwards ? x - 4 : x + 4, y, leftwards ? "end" : "start", marker.label,
                       "marker-text");
    }
    return lines + labels;
}

/// A step of 1, 2 or 5 times a power of ten that cuts `range` into at most `most` parts.
double round_step(double range, int most) {
    if (!(range > 0) || !std::isfinite(range)) {
        return 1;
    }
    const double power = std::pow(10.0, std::floor(std::log10(range / most)));
    for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
        if (range / (factor * power) <= most) {
            return factor * power;
        }
    }
    return 10 * power;
}

}  // namespace

std::string decade_text(int decade) {
    return decade <= lowest_decade
               ? "below 1e" + std::to_string(lowest_decade + 1)
               : "1e" + std::to_string(decade) + " to 1e" + std::to_string(decade + 1);
}

std::string svg_of(const DecadePlot& plot) {
    std::string svg = open_svg(plot.id, plot.title, plot.description);
    int first = 0;
    int last = -1;
    std::uint64_t largest = plot.zeros;
    if (!plot.decades.empty()) {
        first = plot.decades.front().first;
        last = plot.decades.back().first;
        for (const auto& [decade, count] : plot.decades) {
            largest = std::max(largest, count);
        }
        // A tolerance beside the bars is worth the room; one far away is not.
        for (const Marker& marker : plot.markers) {
            if (marker.value > 0) {
                const int decade = static_cast<int>(std::floor(std::log10(marker.value)));
                first = std::min(first, std::max(decade, first - 4));
                last = std::max(last, std::min(decade, last + 4));
            }
        }
        last = std::min(last, first + most_decades);
    }
    const int decades = last - first + 1;
    const double slot = inner_width / (decades + 2);  // one for zero, one gap
    // The count axis begins at one half, so that a single element still shows.
    const double low = std::log10(0.5);
    const double high = std::max(
        1.0, std::ceil(std::log10(static_cast<double>(std::max<std::uint64_t>(largest, 1)))));
    const auto height = [&](std::uint64_t count) {
        return count == 0
                   ? 0.0
                   : (std::log10(static_cast<double>(count)) - low) / (high - low) * inner_height;
    };
    const int tick_step = high > 8 ? 2 : 1;
    for (int power = 0; power <= static_cast<int>(high); power += tick_step) {
        const double y = top + inner_height - (power - low) / (high - low) * inner_height;
        svg += line(left, y, left + inner_width, y, "grid");
        svg += text(left - 6, y + 4, "end",
                    power < 4 ? std::to_string(static_cast<int>(std::pow(10, power)))
                              : "1e" + std::to_string(power));
    }
    svg += bar(left + slot * 0.1, slot * 0.8, height(plot.zeros),
               "equal: " + std::to_string(plot.zeros), "bar-exact");
    svg += text(left + slot / 2, top + inner_height + 16, "middle", "equal");
    for (const auto& [decade, count] : plot.decades) {
        if (decade < first || decade > last) {
            continue;
        }
        const double x = left + slot * (2 + decade - first);
        svg += bar(x + slot * 0.06, slot * 0.88, height(count),
                   decade_text(decade) + ": " + std::to_string(count));
    }
    const int label_step = std::max(1, (decades + 11) / 12);
    for (int decade = first; decade <= last + 1; decade += label_step) {
        if (decades > 0) {
            svg += text(left + slot * (2 + decade - first), top + inner_height + 16, "middle",
                        decade <= lowest_decade ? "less" : "1e" + std::to_string(decade));
        }
    }
    std::vector<std::pair<double, Marker>> placed;
    for (const Marker& marker : plot.markers) {
        const double position = marker.value > 0 ? std::log10(marker.value) - first : -1;
        if (position >= 0 && position <= decades && decades > 0) {
            placed.emplace_back(left + slot * (2 + position), marker);
        }
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    svg += markers_of(placed);
    svg += axes(plot.x_label, "elements (logarithmic)");
    return svg + "</svg>\n";
}

std::string svg_of(const HistogramPlot& plot) {
    std::string svg = open_svg(plot.id, plot.title, plot.description);
    const double bins = static_cast<double>(std::max<std::size_t>(plot.counts.size(), 1));
    // A distribution of one value is drawn as one bar with as much room on both sides.
    const double width = plot.width > 0 ? plot.width : std::max(std::abs(plot.low) * 0.01, 1e-6);
    const double begin = plot.width > 0 ? plot.low : plot.low - width;
    const double range = plot.width > 0 ? plot.width * bins : 3 * width;
    const double shown =
        plot.above > 0 ? inner_width * 0.93 : inner_width;  // room for what lies above
    const auto x_at = [&](double value) { return left + (value - begin) / range * shown; };
    std::uint64_t largest = std::max<std::uint64_t>(plot.above, 1);
    for (const std::uint64_t count : plot.counts) {
        largest = std::max(largest, count);
    }
    const double count_step = std::max(1.0, round_step(static_cast<double>(largest), 5));
    const double count_top = std::ceil(static_cast<double>(largest) / count_step) * count_step;
    for (double tick = 0; tick <= count_top * 1.0001; tick += count_step) {
        const double y = top + inner_height - tick / count_top * inner_height;
        svg += line(left, y, left + inner_width, y, "grid");
        svg += text(left - 6, y + 4, "end", readable(tick));
    }
    for (std::size_t i = 0; i < plot.counts.size(); ++i) {
        const double from = plot.low + width * static_cast<double>(i);
        svg += bar(x_at(from), std::max(1.0, width / range * shown - 0.6),
                   static_cast<double>(plot.counts[i]) / count_top * inner_height,
                   readable(from) + " to " + readable(from + plot.width) + ": " +
                       std::to_string(plot.counts[i]));
    }
    if (plot.above > 0) {
        svg += bar(left + inner_width * 0.95, inner_width * 0.05,
                   static_cast<double>(plot.above) / count_top * inner_height,
                   "above: " + std::to_string(plot.above), "bar-exact");
        svg += text(left + inner_width * 0.975, top + inner_height + 16, "middle", "more");
    }
    const double step = round_step(range, 6);
    for (int i = 0; i <= 8; ++i) {
        const double tick = std::ceil(begin / step) * step + step * i;
        if (x_at(tick) > left + shown + 0.1) {
            break;
        }
        svg += text(x_at(tick), top + inner_height + 16, "middle", readable(tick));
    }
    std::vector<std::pair<double, Marker>> placed;
    for (const Marker& marker : plot.markers) {
        if (!std::isfinite(marker.value)) {
            continue;
        }
        Marker shown_marker = marker;
        double x = x_at(marker.value);
        if (x > left + inner_width) {
            x = left + inner_width;
            shown_marker.label += " \xe2\x86\x92";  // further right
        } else if (x < left) {
            x = left;
            shown_marker.label = "\xe2\x86\x90 " + shown_marker.label;
        }
        placed.emplace_back(x, std::move(shown_marker));
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    svg += markers_of(placed);
    svg += axes(plot.x_label, plot.y_label);
    return svg + "</svg>\n";
}

}  // namespace requal::evidence
