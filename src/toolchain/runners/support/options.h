// Options of a runner: declared once, refused by name when unknown or ill-typed, described in the capabilities.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tensor/tensor.h"

namespace requal::toolchain {

/// What an option's value is. `family`: the name ends with '.', and what follows it is free ("config.KEY").
enum class OptionType { integer, flag, word, text, shape };

/// One option, or one family of options.
struct OptionSpec {
    std::string_view name;
    OptionType type = OptionType::text;
    std::string_view help;
    std::vector<std::string_view> values = {};  ///< the words that are allowed, for `word`
    std::int64_t low = 0;                       ///< bounds of an integer, inclusive
    std::int64_t high = 0;

    bool is_family() const { return name.ends_with('.'); }
};

/// Reads the options of one load or build. Values may come as JSON of the right type or as the text that a person typed
/// after `?`: "4", "on", "1x3x320x320". Everything wrong is Error(input) that names the option.
class OptionReader {
public:
    /// Refuses every option that `known` does not declare. `known` must outlive the reader.
    OptionReader(const Json& options, std::span<const OptionSpec> known,
                 std::string_view toolchain);

    std::optional<std::int64_t> integer(std::string_view name) const;
    std::optional<bool> flag(std::string_view name) const;
    std::optional<std::string> word(std::string_view name) const;
    std::optional<std::string> text(std::string_view name) const;
    /// Members of a family without its prefix: "shape." of {"shape.x": "1x4"} gives {"x": "1x4"}.
    std::map<std::string, std::string> family(std::string_view prefix) const;
    /// The same for families of shapes; a negative or missing dimension is refused.
    std::map<std::string, Shape> shapes(std::string_view prefix) const;

private:
    const OptionSpec& spec_of(std::string_view name) const;
    std::string text_of_value(std::string_view name) const;

    const Json& options_;
    std::span<const OptionSpec> known_;
    std::string toolchain_;
};

/// {NAME: {"type", "help", "values"}} for the capabilities.
Json describe_options(std::span<const OptionSpec> known);

}  // namespace requal::toolchain
