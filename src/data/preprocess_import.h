// Preprocessing specs out of other programs' files: DeepStream's nvinfer configuration, Triton's config.pbtxt, Ultralytics' YAML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace requal::data {

/// One field of the spec and where it comes from.
struct ImportedField {
    std::string field;    ///< "resize.width"
    std::string value;    ///< as written into the spec
    int line = 0;         ///< of the source file; 0: the file does not say it
    std::string because;  ///< the source line, or why the value was taken
};

struct ImportedSpec {
    std::string yaml;  ///< the spec, a comment at each field
    std::vector<ImportedField>
        fields;  ///< line > 0: said by the file; 0: the program's own default, known from its documentation
    std::vector<std::string> not_said;  ///< what nobody said; Requal's default stands in the spec
};

/// `from`: "deepstream", "triton" or "ultralytics". Error(input) with line when the file cannot be read as one or says what a spec
/// cannot express.
ImportedSpec import_preprocess(std::string_view from, std::string_view text,
                               const std::string& source);

}  // namespace requal::data
