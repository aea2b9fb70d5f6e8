#include "artifact/recognise.h"

namespace requal::artifact {

Recognised recognise(const ByteSource& source) {
    std::optional<Recognised> damaged;
    for (const NamedRecogniser& recogniser : all_recognisers()) {
        std::optional<Recognised> found = recogniser.recognise(source);
        if (found && found->kind != "unknown")
            return std::move(*found);
        if (found && !damaged)
            damaged = std::move(found);
    }
    Recognised result = damaged ? std::move(*damaged) : Recognised();
    result.unknown.insert(result.unknown.begin(), "kind");
    return result;
}

}  // namespace requal::artifact
