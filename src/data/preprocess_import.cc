// Sources: NVIDIA DeepStream 7 developer guide, "Gst-nvinfer" (net-scale-factor, offsets, infer-dims, model-color-format,
// maintain-aspect-ratio, symmetric-padding, network-input-order, scaling-filter); Triton "Model Configuration" (input, format,
// dims, data_type); Ultralytics documentation, "Configuration" and exported metadata (imgsz), and its LetterBox class.
#include "data/preprocess_import.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "data/preprocess.h"

namespace requal::data {

namespace {

struct Line {
    std::string key;
    std::string value;
    int number = 0;
    std::string whole;
};

std::string trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && blank(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && blank(text.back())) {
        text.remove_suffix(1);
    }
    return std::string(text);
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

class Import {
public:
    Import(std::string_view text, std::string source)
        : lines_(lines_of(text)), source_(std::move(source)) {}

    ImportedSpec deepstream() {
        const std::map<std::string, Line> keys = ini_section("property");
        if (keys.empty()) {
            fail(0, "has no section [property]", "give the configuration file of nvinfer");
        }
        const auto find = [&](const char* key) {
            const auto found = keys.find(key);
            return found == keys.end() ? nullptr : &found->second;
        };
        deepstream_colour(find("model-color-format"));
        const Line* dims = find("infer-dims");
        if (dims == nullptr) {
            dims = find("input-dims");
        }
        if (dims != nullptr) {
            const std::vector<double> numbers = numbers_of(*dims, ';');
            if (numbers.size() < 3) {
                fail(dims->number, dims->key + " is not C;H;W");
            }
            // input-dims ends in the order of its axes
            const bool hwc = numbers.size() > 3 && numbers[3] == 1;
            said("resize.width", shortest(numbers[hwc ? 1 : 2]), *dims);
            said("resize.height", shortest(numbers[hwc ? 0 : 1]), *dims);
        }
        deepstream_resize(find("maintain-aspect-ratio"), find("symmetric-padding"),
                          find("scaling-filter"));
        if (const Line* scale = find("net-scale-factor")) {
            const double value = number_of(*scale);
            if (value == 0) {
                fail(scale->number, "net-scale-factor is 0");
            }
            // factor * (x - offset): without offsets the factor itself, else its inverse behind the mean
            if (find("offsets") == nullptr) {
                said("values.scale", scale->value, *scale);
            } else {
                said("values.std", shortest(1.0 / value), *scale);
            }
        } else {
            known("values.std", "1", "nvinfer's default net-scale-factor is 1.0");
        }
        if (const Line* offsets = find("offsets")) {
            const std::vector<double> numbers = numbers_of(*offsets, ';');
            std::string list;
            for (const double number : numbers) {
                list += (list.empty() ? "[" : ", ") + shortest(number);
            }
            said("values.mean", list + "]", *offsets);
        } else if (const Line* file = find("mean-file")) {
            fail(file->number, "takes its mean from a picture, which a spec cannot say",
                 "use offsets");
        }
        if (const Line* order = find("network-input-order")) {
            said("layout", number_of(*order) == 1 ? "NHWC" : "NCHW", *order);
        } else {
            known("layout", "NCHW", "nvinfer's default network-input-order is 0");
        }
        known("type", "float32", "nvinfer fills float inputs");
        not_said({"input", "decode.exif"});
        return finish();
    }

    ImportedSpec triton() {
        bool inside = false;
        int depth = 0;
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            const Line line = colon_line(i);
            if (!inside && trimmed(lines_[i]).starts_with("input")) {
                inside = true;
            }
            if (inside) {
                triton_line(line);
                for (const char c : lines_[i]) {
                    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
                }
                if (depth <= 0 && lines_[i].find_first_of("]}") != std::string::npos) {
                    break;
                }
            }
        }
        if (!inside) {
            fail(0, "has no input", "give a model's config.pbtxt");
        }
        triton_finish();
        not_said({"decode.colour", "resize.mode", "resize.interpolation", "values", "decode.exif"});
        return finish();
    }

    ImportedSpec ultralytics() {
        const Line* size = nullptr;
        std::vector<Line> found;
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            found.push_back(colon_line(i));
        }
        for (const Line& line : found) {
            if (line.key == "imgsz" &&
                !lines_[static_cast<std::size_t>(line.number - 1)].starts_with(' ')) {
                size = &line;
            }
        }
        if (size == nullptr) {
            fail(0, "has no imgsz", "give args.yaml of a training or metadata.yaml of an export");
        }
        std::vector<double> sides = numbers_of(*size, ',');
        // a block list stands on the next lines
        for (std::size_t i = static_cast<std::size_t>(size->number);
             sides.empty() && i < lines_.size() && trimmed(lines_[i]).starts_with('-'); ++i) {
            for (std::size_t k = i; k < lines_.size() && trimmed(lines_[k]).starts_with('-'); ++k) {
                const auto value = parse_real(trimmed(trimmed(lines_[k]).substr(1)));
                if (!value) {
                    fail(static_cast<int>(k) + 1, "is no number");
                }
                sides.push_back(*value);
            }
        }
        if (sides.empty() || sides.size() > 2) {
            fail(size->number, "imgsz is neither a number nor [height, width]");
        }
        said("resize.height", shortest(sides.front()), *size);
        said("resize.width", shortest(sides.back()), *size);
        known("decode.colour", "rgb", "Ultralytics turns OpenCV's BGR into RGB");
        known("decode.exif", "apply", "OpenCV's imread turns pictures upright");
        known("resize.mode", "letterbox", "Ultralytics' LetterBox with auto=False");
        known("resize.interpolation", "linear", "LetterBox: cv2.INTER_LINEAR");
        known("resize.rounding", "nearest", "LetterBox: int(round(...))");
        known("resize.pad", "{side: centre, value: 114}", "LetterBox: center=True, 114");
        known("values.divide", "255", "Ultralytics' predictor: im /= 255");
        known("layout", "NCHW", "Ultralytics' predictor");
        known("type", "float32", "unless exported with half=True");
        not_said({"input"});
        return finish();
    }

private:
    [[noreturn]] void fail(int line, const std::string& message, const std::string& next = {}) {
        throw Error(ErrorKind::input, message,
                    line > 0 ? source_ + ":" + std::to_string(line) : source_, next);
    }

    Line colon_line(std::size_t index) const {
        Line line;
        line.number = static_cast<int>(index) + 1;
        line.whole = trimmed(lines_[index]);
        const std::string text = trimmed(line.whole.substr(0, line.whole.find('#')));
        const std::size_t colon = text.find(':');
        if (colon != std::string::npos) {
            line.key = trimmed(text.substr(0, colon));
            line.value = trimmed(text.substr(colon + 1));
        }
        return line;
    }

    std::map<std::string, Line> ini_section(const std::string& name) {
        std::map<std::string, Line> keys;
        bool inside = false;
        for (std::size_t i = 0; i < lines_.size(); ++i) {
            const std::string text = trimmed(lines_[i]);
            if (text.starts_with('[')) {
                inside = text == "[" + name + "]";
            } else if (inside && !text.starts_with('#') && text.find('=') != std::string::npos) {
                const std::size_t equals = text.find('=');
                Line line{trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1)),
                          static_cast<int>(i) + 1, text};
                if (keys.contains(line.key)) {
                    fail(line.number, "'" + line.key + "' is given a second time",
                         "the two may differ; keep one");
                }
                keys[line.key] = line;
            }
        }
        return keys;
    }

    double number_of(const Line& line) {
        const auto value = parse_real(line.value);
        if (!value) {
            fail(line.number, "'" + line.value + "' is no number");
        }
        return *value;
    }

    std::vector<double> numbers_of(const Line& line, char separator) {
        std::vector<double> numbers;
        std::string text = line.value;
        std::erase_if(text, [](char c) { return c == '[' || c == ']' || c == ' '; });
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(separator, at), text.size());
            const auto value = parse_real(text.substr(at, end - at));
            if (!value) {
                fail(line.number, "'" + text.substr(at, end - at) + "' is no number");
            }
            numbers.push_back(*value);
            at = end + 1;
        }
        return numbers;
    }

    void deepstream_colour(const Line* format) {
        if (format == nullptr) {
            known("decode.colour", "rgb", "nvinfer's default model-color-format is 0");
            return;
        }
        const double value = number_of(*format);
        if (value != 0 && value != 1 && value != 2) {
            fail(format->number, "model-color-format " + format->value + " is not known here",
                 "0 is RGB, 1 BGR, 2 grey");
        }
        said("decode.colour", value == 0 ? "rgb" : value == 1 ? "bgr" : "grey", *format);
    }

    void deepstream_resize(const Line* aspect, const Line* symmetric, const Line* filter) {
        const bool keep = aspect != nullptr && number_of(*aspect) == 1;
        const std::string mode = keep ? "letterbox" : "stretch";
        if (aspect != nullptr) {
            said("resize.mode", mode, *aspect);
        } else {
            known("resize.mode", mode, "nvinfer's default maintain-aspect-ratio is 0");
        }
        if (keep) {
            const bool centre = symmetric != nullptr && number_of(*symmetric) == 1;
            const std::string pad = centre ? "{side: centre, value: 0}" : "{side: end, value: 0}";
            if (symmetric != nullptr) {
                said("resize.pad", pad, *symmetric);
            } else {
                known("resize.pad", pad, "nvinfer pads with black on the right and below");
            }
        }
        if (filter == nullptr) {
            not_said({"resize.interpolation"});
            return;
        }
        const double value = number_of(*filter);
        if (value != 0 && value != 1) {
            fail(filter->number,
                 "scaling-filter " + filter->value +
                     " is a filter of the device that has no equal here",
                 "0 is nearest, 1 linear");
        }
        said("resize.interpolation", value == 0 ? "nearest" : "linear", *filter);
    }

    void triton_line(const Line& line) {
        const std::string word = [&] {
            std::string text = line.value;
            std::erase_if(text, [](char c) { return c == '"' || c == ','; });
            return trimmed(text);
        }();
        if (line.key == "name" && input_.number == 0) {
            input_ = line;
            said("input", word, line);
        } else if (line.key == "data_type") {
            const std::map<std::string, std::string> types = {{"TYPE_FP32", "float32"},
                                                              {"TYPE_FP16", "float16"},
                                                              {"TYPE_UINT8", "uint8"},
                                                              {"TYPE_INT8", "int8"}};
            if (!types.contains(word)) {
                fail(line.number, "'" + word + "' is no type that pictures become");
            }
            said("type", types.at(word), line);
        } else if (line.key == "format") {
            format_ = line;
            format_.value = word;
        } else if (line.key == "dims") {
            dims_ = line;
        }
    }

    void triton_finish() {
        std::vector<double> dims =
            dims_.number > 0 ? numbers_of(dims_, ',') : std::vector<double>{};
        if (dims.size() == 4) {
            dims.erase(dims.begin());
        }
        bool nhwc = format_.value == "FORMAT_NHWC";
        if (format_.number > 0 && format_.value != "FORMAT_NONE") {
            said("layout", nhwc ? "NHWC" : "NCHW", format_);
        } else if (dims.size() == 3 && (dims[0] == 3 || dims[0] == 1 || dims[2] == 3)) {
            nhwc = dims[0] != 3 && dims[0] != 1;
            said("layout", nhwc ? "NHWC" : "NCHW", dims_);
        } else {
            not_said({"layout"});
        }
        if (dims.size() == 3 && dims[1] > 0 && dims[nhwc ? 0 : 2] > 0) {
            said("resize.height", shortest(dims[nhwc ? 0 : 1]), dims_);
            said("resize.width", shortest(dims[nhwc ? 1 : 2]), dims_);
        } else {
            not_said({"resize.width", "resize.height"});
        }
    }

    void said(const std::string& field, const std::string& value, const Line& line) {
        result_.fields.push_back({field, value, line.number, line.whole});
    }
    void known(const std::string& field, const std::string& value, const std::string& because) {
        result_.fields.push_back({field, value, 0, because});
    }
    void not_said(std::initializer_list<const char*> fields) {
        for (const char* field : fields) {
            result_.not_said.emplace_back(field);
        }
    }

    const ImportedField* field(const std::string& name) const {
        for (const ImportedField& candidate : result_.fields) {
            if (candidate.field == name) {
                return &candidate;
            }
        }
        return nullptr;
    }

    void put(const std::string& name, const std::string& indent) {
        if (const ImportedField* known_field = field(name)) {
            const std::string where = known_field->line > 0
                                          ? source_ + ":" + std::to_string(known_field->line) + ": "
                                          : "not in the file: ";
            result_.yaml += indent + name.substr(name.find('.') + 1) + ": " + known_field->value +
                            "  # " + printable(where + known_field->because) + "\n";
        }
    }

    void put_map(const std::string& name, std::initializer_list<const char*> members) {
        std::string before = result_.yaml;
        result_.yaml += name + ":\n";
        const std::size_t size = result_.yaml.size();
        for (const char* member : members) {
            put(name + "." + member, "  ");
        }
        if (result_.yaml.size() == size) {
            result_.yaml = std::move(before);
        }
    }

    ImportedSpec finish() {
        const bool sized = field("resize.width") != nullptr;
        if (!sized && field("resize.mode") != nullptr) {
            fail(0, "does not say the size of the input",
                 "add it to the file, or write the spec by hand");
        }
        if (sized && field("resize.mode") == nullptr) {
            known("resize.mode", "stretch", "nobody said it; check it");
        }
        result_.yaml = "# Imported by requal preprocess import from " + printable(source_) + "\n";
        for (const std::string& name : result_.not_said) {
            result_.yaml += "# not said: " + name + "\n";
        }
        result_.yaml += "schema: preprocess/1\n";
        put("input", "");
        put_map("decode", {"colour", "exif"});
        put_map("resize", {"mode", "width", "height", "interpolation", "rounding", "pad"});
        put_map("values", {"divide", "scale", "mean", "std"});
        put("layout", "");
        put("type", "");
        parse_preprocess(result_.yaml, source_ + " (imported)");
        return std::move(result_);
    }

    std::vector<std::string> lines_;
    std::string source_;
    ImportedSpec result_;
    Line input_;
    Line format_;
    Line dims_;
};

}  // namespace

ImportedSpec import_preprocess(std::string_view from, std::string_view text,
                               const std::string& source) {
    Import import(text, source);
    return from == "deepstream" ? import.deepstream()
           : from == "triton"   ? import.triton()
                                : import.ultralytics();
}

}  // namespace requal::data
