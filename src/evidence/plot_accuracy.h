// Static SVG plots of task metrics, and pictures with boxes on them. As evidence/plot.h; each is also complete on its own.
#pragma once

#include <string>
#include <vector>

#include "evidence/plot.h"

namespace requal::evidence {

/// One row: a value with its interval. NaN: not known.
struct IntervalRow {
    std::string label;
    double value = 0, low = 0, high = 0;
    std::string hint;  ///< shown on hovering: "n = 120"
};

/// Values with intervals, one row each, on one axis; markers are vertical lines.
struct IntervalPlot {
    std::string id, title, description, x_label;
    std::vector<IntervalRow> rows;
    std::vector<Marker> markers;
};
std::string svg_of(const IntervalPlot& plot);

/// One line over named places (ranges of a number).
struct BandSeries {
    std::string name;
    std::string css_class;  ///< "first" or "second"
    std::vector<IntervalRow> points;
};
struct BandPlot {
    std::string id, title, description, x_label, y_label;
    std::vector<std::string> bands;
    std::vector<BandSeries> series;  ///< as many points as bands
};
std::string svg_of(const BandPlot& plot);

/// Signed cells: rises and falls in two colours, the deeper the larger.
struct MatrixPlot {
    std::string id, title, description, x_label, y_label;
    std::vector<std::string> names;          ///< of rows and columns
    std::vector<std::vector<double>> cells;  ///< names x names
};
std::string svg_of(const MatrixPlot& plot);

/// A box with its label, in pixels of the picture.
struct DrawnBox {
    double x = 0, y = 0, width = 0, height = 0;
    std::string label;
    std::string css_class;  ///< "truth", "first" (reference), "second" (candidate)
};
/// A picture with boxes on it. `data_uri` empty: the boxes alone, on a blank ground.
struct BoxPicture {
    std::string id, title, description;
    double width = 0, height = 0;
    std::string data_uri;
    std::vector<DrawnBox> boxes;
};
std::string svg_of(const BoxPicture& picture);

/// "data:image/jpeg;base64,..." of the bytes of a JPEG or PNG file; empty for anything else.
std::string picture_uri(std::string_view bytes);

/// A plot with its own style, as a file of its own.
std::string standalone_svg(const std::string& svg);

}  // namespace requal::evidence
