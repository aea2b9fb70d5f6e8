// YAML: anything but Error, or a node without its place, is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/yaml.h"

namespace {

void check(const requal::Yaml& node) {
    if (!node.where().starts_with("fuzz:"))
        std::abort();
    if (node.kind() == requal::Yaml::Kind::sequence) {
        for (const requal::Yaml& item : node.items())
            check(item);
    } else if (node.kind() == requal::Yaml::Kind::map) {
        for (const auto& [key, value] : node.members()) {
            // Keys are unique, so each is found again.
            if (node.find(key) != &value)
                std::abort();
            check(value);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const requal::Yaml root = requal::parse_yaml(text, "fuzz");
        check(root);
        static_cast<void>(root.to_json());
    } catch (const requal::Error&) {
    }
    return 0;
}
