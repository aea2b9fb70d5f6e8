// Tags of an XML document, one after the other, over hostile bytes: no entities are expanded except the five of XML itself, no
// document type is accepted, nothing is kept. Format: https://www.w3.org/TR/xml/ (elements, attributes, comments, declaration).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/byte_source.h"

namespace requal::artifact {

/// What breaks the syntax. Caught by the recogniser, never seen outside the room.
struct MalformedXml {
    std::uint64_t offset;
    std::string what;
};

struct XmlTag {
    enum class Kind { open, close, empty };  ///< <a>, </a>, <a/>
    Kind kind = Kind::open;
    std::string name;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::string text;          ///< between the tag before and this one, trimmed, 1000 bytes at most
    std::uint64_t offset = 0;  ///< of its '<'
    std::uint64_t end = 0;     ///< behind its '>'

    /// Empty when there is none of this name.
    std::string_view attribute(std::string_view wanted) const;
};

/// Reads tags from `at` on; checks that they are closed in order (at most 200 open at once).
class XmlScanner {
public:
    explicit XmlScanner(const ByteSource& source, std::uint64_t at = 0)
        : source_(source), at_(at) {}
    /// False at the end of the bytes, which all tags must have been closed before. Throws MalformedXml.
    bool next(XmlTag& tag);

private:
    char peek() const;
    bool skip(std::string_view wanted);
    void skip_past(std::string_view end);
    void skip_space();
    std::string name();
    std::string value();
    [[noreturn]] void fail(std::string what) const;
    const ByteSource& source_;
    std::uint64_t at_;
    std::vector<std::string> open_;
};

}  // namespace requal::artifact
