#include "evidence/plot_accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "evidence/html.h"

namespace requal::evidence {

namespace {

constexpr double plot_width = 640;
constexpr double row_height = 20;
constexpr double head = 40;
constexpr double foot = 44;

std::string at(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", value);
    return text;
}

std::string open_svg(double width, double height, const std::string& id, const std::string& title,
                     const std::string& description) {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + at(width) + " " +
           at(height) + "\" role=\"img\" aria-labelledby=\"" + id + "-title " + id +
           "-desc\">\n<title id=\"" + id + "-title\">" + html_text(title) +
           "</title>\n<desc id=\"" + id + "-desc\">" + html_text(description) + "</desc>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string& css_class) {
    return "<line class=\"" + css_class + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" +
           at(x2) + "\" y2=\"" + at(y2) + "\"/>\n";
}

std::string text(double x, double y, const char* anchor, const std::string& content,
                 const std::string& css_class = "axis-text") {
    return "<text class=\"" + css_class + "\" x=\"" + at(x) + "\" y=\"" + at(y) +
           "\" text-anchor=\"" + anchor + "\">" + html_text(content) + "</text>\n";
}

std::string dot(double x, double y, const std::string& css_class, const std::string& hint) {
    return "<circle class=\"" + css_class + "\" cx=\"" + at(x) + "\" cy=\"" + at(y) +
           "\" r=\"3.5\"><title>" + html_text(hint) + "</title></circle>\n";
}

/// An axis from a round number to a round number.
struct Axis {
    double low = 0, high = 1, step = 0.2, from = 0, to = 1;

    void fit(double least, double most) {
        if (!(least <= most)) {
            least = 0;
            most = 1;
        }
        if (most - least < 1e-9) {
            least -= 0.05;
            most += 0.05;
        }
        const double power = std::pow(10.0, std::floor(std::log10((most - least) / 5)));
        step = power;
        for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
            step = factor * power;
            if ((most - least) / step <= 6) {
                break;
            }
        }
        low = std::floor(least / step) * step;
        high = std::ceil(most / step) * step;
    }
    double place(double value) const { return from + (to - from) * (value - low) / (high - low); }
    std::vector<double> ticks() const {
        std::vector<double> values;
        const auto count = static_cast<int>(std::lround((high - low) / step));
        for (int i = 0; i <= count; ++i) {
            values.push_back(low + step * i);
        }
        return values;
    }
};

void widen(double& least, double& most, double value) {
    if (std::isfinite(value)) {
        least = std::min(least, value);
        most = std::max(most, value);
    }
}

std::string short_name(const std::string& name, std::size_t most) {
    return printable(name).size() <= most ? printable(name)
                                          : printable(name).substr(0, most - 1) + "~";
}

std::string hint_of(const IntervalRow& row) {
    std::string hint = row.label + ": " + readable(row.value, 4);
    if (std::isfinite(row.low) && std::isfinite(row.high)) {
        hint += " [" + readable(row.low, 4) + ", " + readable(row.high, 4) + "]";
    }
    return row.hint.empty() ? hint : hint + ", " + row.hint;
}

}  // namespace

std::string svg_of(const IntervalPlot& plot) {
    constexpr double left = 150;
    const double height = head + row_height * static_cast<double>(plot.rows.size()) + foot;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const IntervalRow& row : plot.rows) {
        for (const double value : {row.value, row.low, row.high}) {
            widen(least, most, value);
        }
    }
    for (const Marker& marker : plot.markers) {
        widen(least, most, marker.value);
    }
    Axis axis;
    axis.fit(least, most);
    axis.from = left;
    axis.to = plot_width - 20;
    std::string svg = open_svg(plot_width, height, plot.id, plot.title, plot.description);
    const double base = height - foot;
    svg += text(4, 14, "start", plot.title, "axis-label");
    for (const double tick : axis.ticks()) {
        svg += line(axis.place(tick), head - 8, axis.place(tick), base, "grid");
        svg += text(axis.place(tick), base + 16, "middle", readable(tick, 3));
    }
    svg += line(axis.from, base, axis.to, base, "axis");
    svg += text((axis.from + axis.to) / 2, height - 8, "middle", plot.x_label, "axis-label");
    for (const Marker& marker : plot.markers) {
        svg += line(axis.place(marker.value), head - 8, axis.place(marker.value), base,
                    marker.css_class == "limit" ? "limit" : "marker");
        svg += text(axis.place(marker.value) + 4, head - 12, "start", marker.label, "marker-text");
    }
    double y = head + row_height / 2;
    for (const IntervalRow& row : plot.rows) {
        svg += text(left - 8, y + 4, "end", short_name(row.label, 22));
        if (std::isfinite(row.low) && std::isfinite(row.high)) {
            svg += line(axis.place(row.low), y, axis.place(row.high), y, "interval");
        }
        if (std::isfinite(row.value)) {
            svg += dot(axis.place(row.value), y, "second", hint_of(row));
        } else {
            svg += text(axis.from + 4, y + 4, "start", "not defined");
        }
        y += row_height;
    }
    return svg + "</svg>\n";
}

std::string svg_of(const BandPlot& plot) {
    constexpr double height = 330, left = 64;
    double least = 0, most = 0;
    for (const BandSeries& series : plot.series) {
        for (const IntervalRow& point : series.points) {
            for (const double value : {point.value, point.low, point.high}) {
                widen(least, most, value);
            }
        }
    }
    Axis axis;
    axis.fit(least, most);
    axis.from = height - foot;
    axis.to = head;
    const double slot =
        (plot_width - left - 20) / static_cast<double>(std::max<std::size_t>(plot.bands.size(), 1));
    std::string svg = open_svg(plot_width, height, plot.id, plot.title, plot.description);
    svg += text(4, 14, "start", plot.y_label, "axis-label");
    for (const double tick : axis.ticks()) {
        svg += line(left, axis.place(tick), plot_width - 20, axis.place(tick), "grid");
        svg += text(left - 8, axis.place(tick) + 4, "end", readable(tick, 3));
    }
    for (std::size_t b = 0; b < plot.bands.size(); ++b) {
        svg += text(left + slot * (static_cast<double>(b) + 0.5), height - foot + 16, "middle",
                    short_name(plot.bands[b], 14));
    }
    svg += text(left + (plot_width - left) / 2, height - 8, "middle", plot.x_label, "axis-label");
    double shift = -4, name_x = plot_width - 20;
    for (const BandSeries& series : plot.series) {
        std::string path, dots;
        for (std::size_t b = 0; b < series.points.size(); ++b) {
            const IntervalRow& point = series.points[b];
            if (!std::isfinite(point.value)) {
                continue;
            }
            const double x = left + slot * (static_cast<double>(b) + 0.5) + shift;
            if (std::isfinite(point.low) && std::isfinite(point.high)) {
                dots += line(x, axis.place(point.low), x, axis.place(point.high), "interval");
            }
            path += (path.empty() ? "" : " ") + at(x) + "," + at(axis.place(point.value));
            dots += dot(x, axis.place(point.value), series.css_class,
                        series.name + ", " + hint_of(point));
        }
        svg +=
            "<polyline class=\"line-" + series.css_class + "\" points=\"" + path + "\"/>\n" + dots;
        svg += text(name_x, 14, "end", series.name, "name-" + series.css_class);
        name_x -= 9.0 * static_cast<double>(series.name.size()) + 20;
        shift += 8;
    }
    return svg + "</svg>\n";
}

std::string svg_of(const MatrixPlot& plot) {
    constexpr double left = 130;
    const std::size_t count = std::max<std::size_t>(plot.names.size(), 1);
    const double cell = std::clamp(480.0 / static_cast<double>(count), 3.0, 40.0);
    const double side = cell * static_cast<double>(count);
    const double height = head + side + 90;
    double most = 0;
    for (const auto& row : plot.cells) {
        for (const double value : row) {
            most = std::max(most, std::abs(value));
        }
    }
    std::string svg = open_svg(std::max(plot_width, left + side + 20), height, plot.id, plot.title,
                               plot.description);
    svg += text(4, 14, "start", plot.title, "axis-label");
    svg += text(left + side / 2, height - 6, "middle", plot.x_label, "axis-label");
    svg += text(left - 8, head - 8, "end", plot.y_label, "axis-label");
    for (std::size_t r = 0; r < plot.cells.size(); ++r) {
        const double y = head + cell * static_cast<double>(r);
        if (cell >= 10) {
            svg += text(left - 6, y + cell / 2 + 4, "end", short_name(plot.names[r], 16));
            svg += "<text class=\"axis-text\" transform=\"translate(" +
                   at(left + cell * (static_cast<double>(r) + 0.5)) + " " + at(head + side + 10) +
                   ") rotate(60)\">" + html_text(short_name(plot.names[r], 10)) + "</text>\n";
        }
        for (std::size_t c = 0; c < plot.cells[r].size(); ++c) {
            const double value = plot.cells[r][c];
            if (value == 0) {
                continue;
            }
            // on the diagonal a rise is good, elsewhere it is bad
            const bool good = (r == c) == (value > 0);
            svg += "<rect class=\"" + std::string(good ? "good" : "bad") + "\" x=\"" +
                   at(left + cell * static_cast<double>(c)) + "\" y=\"" + at(y) + "\" width=\"" +
                   at(cell) + "\" height=\"" + at(cell) + "\" fill-opacity=\"" +
                   readable(0.15 + 0.85 * std::abs(value) / most, 2) + "\"><title>" +
                   html_text(plot.names[r] + " called " + plot.names[c] + ": " +
                             (value > 0 ? "+" : "") + readable(value, 4)) +
                   "</title></rect>\n";
        }
    }
    svg += "<rect class=\"frame\" x=\"" + at(left) + "\" y=\"" + at(head) + "\" width=\"" +
           at(side) + "\" height=\"" + at(side) + "\"/>\n";
    return svg + "</svg>\n";
}

std::string svg_of(const BoxPicture& picture) {
    double width = picture.width, height = picture.height;
    for (const DrawnBox& box : picture.boxes) {
        width = std::max(width, std::min(box.x + box.width, 1e5));
        height = std::max(height, std::min(box.y + box.height, 1e5));
    }
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
    const double scale = plot_width / width;
    std::string svg =
        open_svg(plot_width, height * scale + 26, picture.id, picture.title, picture.description);
    svg += text(4, 16, "start", picture.title, "axis-label");
    svg += "<g transform=\"translate(0 26)\">\n<rect class=\"ground\" width=\"" + at(plot_width) +
           "\" height=\"" + at(height * scale) + "\"/>\n";
    if (!picture.data_uri.empty()) {
        svg += "<image width=\"" + at(picture.width * scale) + "\" height=\"" +
               at(picture.height * scale) + "\" preserveAspectRatio=\"none\" href=\"" +
               picture.data_uri + "\"/>\n";
    }
    for (const DrawnBox& box : picture.boxes) {
        svg += "<rect class=\"box-" + box.css_class + "\" x=\"" + at(box.x * scale) + "\" y=\"" +
               at(box.y * scale) + "\" width=\"" + at(box.width * scale) + "\" height=\"" +
               at(box.height * scale) + "\"/>\n";
        // candidate's names stand below, the others' above, so that neither covers the other
        const bool below = box.css_class == "second";
        svg += text(box.x * scale + 2,
                    below ? std::min((box.y + box.height) * scale + 12, height * scale - 2)
                          : std::max(box.y * scale - 3, 10.0),
                    "start", box.label, "name-" + box.css_class);
    }
    return svg + "</g>\n</svg>\n";
}

std::string picture_uri(std::string_view bytes) {
    const bool jpeg = bytes.substr(0, 3) == "\xFF\xD8\xFF";
    const bool png = bytes.substr(0, 8) == "\x89PNG\r\n\x1A\n";
    if (!jpeg && !png) {
        return {};
    }
    static constexpr char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string uri = jpeg ? "data:image/jpeg;base64," : "data:image/png;base64,";
    uri.reserve(uri.size() + bytes.size() * 4 / 3 + 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            word =
                word << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        }
        for (std::size_t k = 0; k < 4; ++k) {
            uri += i + k > bytes.size() ? '=' : letters[word >> (18 - 6 * k) & 63U];
        }
    }
    return uri;
}

std::string standalone_svg(const std::string& svg) {
    static constexpr std::string_view style =
        "<style>svg{background:#fff;font:12px system-ui,\"DejaVu Sans\",sans-serif}"
        "text{fill:#1d2730}.axis-label{font-weight:600}.axis{stroke:#1d2730}.grid{stroke:#dde3e8}"
        ".marker{stroke:#5b3fa8;stroke-width:1.5}"
        ".limit{stroke:#b3261e;stroke-width:1.5;stroke-dasharray:5 3}"
        ".interval{stroke:#2f6f9f;stroke-width:2}.bar{fill:#2f6f9f}.bar-exact{fill:#8a97a5}"
        ".first,.name-first{fill:#5b3fa8}.second,.name-second{fill:#c2570c}"
        ".line-first{fill:none;stroke:#5b3fa8;stroke-width:1.5}"
        ".line-second{fill:none;stroke:#c2570c;stroke-width:1.5}"
        ".good{fill:#2e7d32}.bad{fill:#b3261e}.frame{fill:none;stroke:#1d2730}"
        ".ground{fill:#eceff1}.box-truth{fill:none;stroke:#2e7d32;stroke-width:2}"
        ".name-truth{fill:#2e7d32}.box-first{fill:none;stroke:#5b3fa8;stroke-width:2}"
        ".box-second{fill:none;stroke:#c2570c;stroke-width:2;stroke-dasharray:6 3}"
        ".name-truth,.name-first,.name-second{paint-order:stroke;stroke:#fff;stroke-width:3px}"
        "</style>\n";
    const std::size_t end = svg.find('\n');
    std::string result = svg.substr(0, end + 1);
    if (result.find("xmlns=") == std::string::npos) {
        result.insert(4, " xmlns=\"http://www.w3.org/2000/svg\"");
    }
    return result.append(style).append(svg, end + 1);
}

}  // namespace requal::evidence
