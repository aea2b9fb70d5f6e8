// Reading a preprocessing spec: every word of the file means something, or the file is refused.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "data/preprocess.h"

namespace requal::data {

namespace {

constexpr std::int64_t side_limit = 16384;

template <typename T, std::size_t N>
T choice(const Yaml& node, const std::array<std::pair<std::string_view, T>, N>& words) {
    const std::string text = node.text();
    std::string known;
    for (const auto& [word, value] : words) {
        if (text == word) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    node.fail("'" + text + "' is not known", "known: " + known);
}

template <typename T, std::size_t N>
void choose(const Yaml& map, std::string_view key, T& target,
            const std::array<std::pair<std::string_view, T>, N>& words) {
    if (const Yaml* node = map.find(key)) {
        target = choice(*node, words);
    }
}

constexpr std::array<std::pair<std::string_view, ResizeMode>, 5> modes{
    {{"none", ResizeMode::none},
     {"stretch", ResizeMode::stretch},
     {"letterbox", ResizeMode::letterbox},
     {"centre-crop", ResizeMode::centre_crop},
     {"short-side", ResizeMode::short_side}}};
constexpr std::array<std::pair<std::string_view, Interpolation>, 5> interpolations{
    {{"nearest", Interpolation::nearest},
     {"linear", Interpolation::linear},
     {"cubic", Interpolation::cubic},
     {"area", Interpolation::area},
     {"lanczos4", Interpolation::lanczos4}}};

void read_decode(const Yaml& node, PreprocessSpec& spec) {
    node.allow_keys({"colour", "exif", "alpha", "sixteen_bit", "limit_pixels"});
    choose(node, "colour", spec.colour,
           std::array<std::pair<std::string_view, Colour>, 3>{
               {{"rgb", Colour::rgb}, {"bgr", Colour::bgr}, {"grey", Colour::grey}}});
    choose(node, "exif", spec.rules.exif,
           std::array<std::pair<std::string_view, ExifRule>, 3>{{{"apply", ExifRule::apply},
                                                                 {"ignore", ExifRule::ignore},
                                                                 {"refuse", ExifRule::refuse}}});
    choose(node, "alpha", spec.rules.alpha,
           std::array<std::pair<std::string_view, AlphaRule>, 2>{
               {{"drop", AlphaRule::drop}, {"refuse", AlphaRule::refuse}}});
    choose(node, "sixteen_bit", spec.rules.sixteen_bit,
           std::array<std::pair<std::string_view, DepthRule>, 2>{
               {{"refuse", DepthRule::refuse}, {"high-byte", DepthRule::high_byte}}});
    if (const Yaml* limit = node.find("limit_pixels")) {
        const std::int64_t value = limit->integer();
        if (value < 1 || value > 4'000'000'000) {
            limit->fail("must lie between 1 and 4000000000");
        }
        spec.rules.limit_pixels = static_cast<std::uint64_t>(value);
    }
}

std::int64_t side(const Yaml& node) {
    const std::int64_t value = node.integer();
    if (value < 1 || value > side_limit) {
        node.fail("must lie between 1 and " + std::to_string(side_limit));
    }
    return value;
}

void read_pad(const Yaml& node, PreprocessSpec& spec) {
    node.allow_keys({"side", "value"});
    choose(node, "side", spec.pad_side,
           std::array<std::pair<std::string_view, PadSide>, 3>{
               {{"centre", PadSide::centre}, {"end", PadSide::end}, {"start", PadSide::start}}});
    const Yaml* value = node.find("value");
    if (value == nullptr) {
        return;
    }
    const auto byte = [](const Yaml& item) {
        const std::int64_t number = item.integer();
        if (number < 0 || number > 255) {
            item.fail("must lie between 0 and 255: the border is made of pixels");
        }
        return static_cast<std::uint8_t>(number);
    };
    if (value->kind() == Yaml::Kind::scalar) {
        spec.pad.fill(byte(*value));
        return;
    }
    const auto& items = value->items();
    if (items.size() != static_cast<std::size_t>(spec.channels())) {
        value->fail("has " + std::to_string(items.size()) + " values for " +
                    std::to_string(spec.channels()) + " channels");
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        spec.pad[i] = byte(items[i]);
    }
}

void read_resize(const Yaml& node, PreprocessSpec& spec) {
    node.allow_keys(
        {"mode", "width", "height", "short_side", "interpolation", "rounding", "enlarge", "pad"});
    spec.mode = choice(node.at("mode"), modes);
    choose(node, "interpolation", spec.interpolation, interpolations);
    choose(node, "rounding", spec.rounding,
           std::array<std::pair<std::string_view, Rounding>, 4>{{{"nearest", Rounding::nearest},
                                                                 {"half-up", Rounding::half_up},
                                                                 {"down", Rounding::down},
                                                                 {"up", Rounding::up}}});
    const bool sized = spec.mode == ResizeMode::stretch || spec.mode == ResizeMode::letterbox ||
                       spec.mode == ResizeMode::centre_crop;
    for (const auto& [key, target] :
         {std::pair{"width", &spec.width}, std::pair{"height", &spec.height}}) {
        if (sized) {
            *target = side(node.at(key));
        } else if (const Yaml* given = node.find(key)) {
            given->fail("mode '" + std::string(name_of(spec.mode)) + "' has no " + key);
        }
    }
    if (spec.mode == ResizeMode::short_side) {
        spec.short_side = side(node.at("short_side"));
    } else if (const Yaml* given = node.find("short_side")) {
        if (spec.mode != ResizeMode::centre_crop) {
            given->fail("mode '" + std::string(name_of(spec.mode)) + "' has no short_side");
        }
        spec.short_side = side(*given);
        if (spec.short_side < std::max(spec.width, spec.height)) {
            given->fail("is smaller than the crop " + std::to_string(spec.width) + "x" +
                        std::to_string(spec.height));
        }
    }
    if (spec.mode != ResizeMode::letterbox) {
        for (const char* key : {"pad", "enlarge"}) {
            if (const Yaml* given = node.find(key)) {
                given->fail("only mode 'letterbox' has " + std::string(key));
            }
        }
    }
    spec.enlarge = node.boolean_or("enlarge", true);
    if (const Yaml* pad = node.find("pad")) {
        read_pad(*pad, spec);
    }
}

float real(const Yaml& node, bool may_be_zero) {
    const double value = node.number();
    const auto result = static_cast<float>(value);
    if (!std::isfinite(result) || (!may_be_zero && result == 0.0F)) {
        node.fail("must be a finite float32 number" +
                  std::string(may_be_zero ? "" : " other than 0"));
    }
    return result;
}

std::vector<float> per_channel(const Yaml& node, const PreprocessSpec& spec, bool may_be_zero) {
    std::vector<float> values;
    if (node.kind() == Yaml::Kind::scalar) {
        values.assign(static_cast<std::size_t>(spec.channels()), real(node, may_be_zero));
        return values;
    }
    for (const Yaml& item : node.items()) {
        values.push_back(real(item, may_be_zero));
    }
    if (values.size() != static_cast<std::size_t>(spec.channels())) {
        node.fail("has " + std::to_string(values.size()) + " values for " +
                  std::to_string(spec.channels()) + " channels");
    }
    return values;
}

void read_values(const Yaml& node, PreprocessSpec& spec) {
    node.allow_keys({"divide", "scale", "mean", "std"});
    if (const Yaml* divide = node.find("divide")) {
        spec.divide = real(*divide, false);
    }
    if (const Yaml* scale = node.find("scale")) {
        spec.scale = real(*scale, false);
    }
    if (const Yaml* mean = node.find("mean")) {
        spec.mean = per_channel(*mean, spec, true);
    }
    if (const Yaml* deviation = node.find("std")) {
        spec.std = per_channel(*deviation, spec, false);
    }
}

}  // namespace

std::string_view name_of(ResizeMode mode) {
    return modes[static_cast<std::size_t>(mode)].first;
}

std::string_view name_of(Interpolation interpolation) {
    return interpolations[static_cast<std::size_t>(interpolation)].first;
}

PreprocessSpec parse_preprocess(std::string_view text, const std::string& source) {
    const Yaml root = parse_yaml(text, source);
    root.allow_keys(
        {"schema", "input", "decode", "resize", "values", "range", "layout", "type", "note"});
    if (root.at("schema").text() != "preprocess/1") {
        root.at("schema").fail("is not a preprocessing spec", "write schema: preprocess/1");
    }
    PreprocessSpec spec;
    spec.path = source;
    spec.digest = digest_of(text);
    spec.input = root.text_or("input", "");
    if (const Yaml* decode = root.find("decode")) {
        read_decode(*decode, spec);
    }
    if (const Yaml* resize = root.find("resize")) {
        read_resize(*resize, spec);
    }
    choose(root, "layout", spec.layout,
           std::array<std::pair<std::string_view, Layout>, 2>{
               {{"NCHW", Layout::nchw}, {"NHWC", Layout::nhwc}}});
    choose(
        root, "type", spec.type,
        std::array<std::pair<std::string_view, ElementType>, 4>{{{"float32", ElementType::float32},
                                                                 {"float16", ElementType::float16},
                                                                 {"uint8", ElementType::uint8},
                                                                 {"int8", ElementType::int8}}});
    if (const Yaml* values = root.find("values")) {
        read_values(*values, spec);
        if (spec.type == ElementType::uint8) {
            values->fail("type uint8 takes the pixels as they are", "leave values out");
        }
    }
    if (const Yaml* range = root.find("range")) {
        const auto& items = range->items();
        if (items.size() != 2 || !(items[0].number() < items[1].number())) {
            range->fail("is not [LOW, HIGH] with LOW below HIGH");
        }
        spec.range = {items[0].number(), items[1].number()};
    }
    return spec;
}

PreprocessSpec read_preprocess(const std::string& path) {
    return parse_preprocess(read_file(path, std::uint64_t{1} << 20), path);
}

}  // namespace requal::data
