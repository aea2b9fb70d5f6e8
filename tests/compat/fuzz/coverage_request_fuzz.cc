// Any text as a coverage request: an error of input, or a document that can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/yaml.h"
#include "compat/coverage.h"
#include "compat/coverage_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace requal;
    static const compat::RuleSet rules = compat::load_rules();
    try {
        const YamlLimits limits{.size_bytes = 65536, .depth = 20, .nodes = 2000};
        const Yaml yaml = parse_yaml(std::string_view(reinterpret_cast<const char*>(data), size),
                                     "request.yaml", limits);
        // files named by the text are looked for below a folder that does not exist
        const compat::Request request =
            compat::read_request(yaml, "/nonexistent-folder/request.yaml", rules.tables);
        if (request.targets.size() * (request.offers.size() + 1) > 256)
            return 0;
        const Json document = compat::coverage_document(rules, request, {});
        const std::string text = write_json(document);
        if (write_json(parse_json(text, "fuzz")) != text || compat::coverage_csv(document).empty())
            std::abort();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::input)
            std::abort();
    }
    return 0;
}
