// Hailo executables (HEF). Header: big-endian magic 0x01484546, version 0 to 3, size of the description, then by version
//   0: 4 unused bytes, MD5 of the rest          1: CRC32, 64-bit size of the configuration, 4 unused bytes
//   2: XXH3-64, 64-bit size of the configuration, 16 unused bytes
//   3: XXH3-64, 64-bit size of the padded configuration, 32-bit padding, 64-bit size of more information, XXH3-64 of the description,
//      8 unused bytes
// and the description, a Protocol Buffers message. Sources: hef/hef_internal.hpp, hef/hef.cpp and hef.proto of hailo-ai/hailort
// (4.x to 5.2). The checksum is of everything behind the header, except that HailoRT compares only the description's where a header of
// version 3 has one.
#include <algorithm>

#include "artifact/checksum.h"
#include "artifact/recognise.h"
#include "artifact/wire.h"
#include "base/text.h"

namespace requal::artifact {

namespace {

constexpr std::string_view magic("\x01HEF", 4);
constexpr std::size_t list_limit = 100;
constexpr std::uint64_t header_sizes[] = {32, 28, 44, 56};

std::uint64_t big_endian(const ByteSource& source, std::uint64_t at, std::size_t width) {
    std::uint64_t value = 0;
    for (const char c : source.view(at, width))
        value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

std::string hex(const ByteSource& source, std::uint64_t at, std::size_t width) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : source.view(at, width)) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

// ProtoHEFHwArch of hef.proto
std::string architecture_name(std::uint64_t code) {
    switch (code) {
    case 0:
        return "HAILO8";
    case 1:
        return "HAILO8P";
    case 2:
        return "HAILO8R";
    case 3:
        return "HAILO8L";
    case 4:
        return "HAILO15M";
    case 5:
        return "HAILO10H";
    case 103:
        return "HAILO15H";
    default:
        return "architecture " + std::to_string(code);
    }
}

void read_header(const ByteSource& source, const WireField& field, Recognised& result) {
    Json& recorded = result.recorded;
    // proto3 does not write a field that is 0: no architecture means the first one
    std::uint64_t architecture = 0;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        if (part.number == 1) {
            part.require_type(0);
            architecture = part.value;
        } else if (part.number == 2) {
            part.require_type(0);
            recorded["created"] = part.value;
        } else if (part.number == 3) {
            // newer compilers write three numbers elsewhere; only plain text is taken for a version
            const std::string text = wire_text(source, part, 100);
            if (!text.empty() && printable(text) == text)
                recorded["sdk_version"] = text;
        } else if (part.number == 4) {
            part.require_type(0);
            recorded["hef_version"] = part.value;
        }
    }
    recorded["hw_arch"] = architecture_name(architecture);
}

std::string group_name(const ByteSource& source, const WireField& field) {
    std::string name;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        if (part.number == 10) {
            name = wire_text(source, part, 200);
        } else if (part.number == 1 && name.empty()) {
            WireField inner;  // the older place
            for (WireReader inners(source, part); inners.next(inner);)
                if (inner.number == 1)
                    name = wire_text(source, inner, 200);
        }
    }
    return name;
}

std::string extension_name(const ByteSource& source, const WireField& field) {
    std::string name;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);)
        if (part.number == 2)
            name = wire_text(source, part, 200);
    return name;
}

void read_description(const ByteSource& source, std::uint64_t begin, std::uint64_t end,
                      Recognised& result) {
    Json groups = Json::array(), extensions = Json::array();
    WireField field;
    for (WireReader fields(source, begin, end); fields.next(field);) {
        if (field.number == 1)
            read_header(source, field, result);
        else if (field.number == 2 && groups.size() < list_limit)
            groups.push_back(group_name(source, field));
        else if (field.number == 5 && extensions.size() < list_limit)
            extensions.push_back(extension_name(source, field));
    }
    result.recorded["network_groups"] = std::move(groups);
    if (extensions.size() > 0)
        result.recorded["extensions"] = std::move(extensions);
}

std::optional<Recognised> recognise_hef(const ByteSource& source) {
    if (source.view(0, magic.size()) != magic)
        return std::nullopt;
    Recognised result;
    const std::uint64_t version = big_endian(source, 4, 4), size = big_endian(source, 8, 4);
    const std::uint64_t header = version < 4 ? header_sizes[version] : 12;
    if (source.size() < header) {
        result.damage.push_back("begins as a Hailo executable and is cut off at byte " +
                                std::to_string(source.size()) + ", inside its header");
        return result;
    }
    result.kind = "hailo-hef";
    Json& recorded = result.recorded;
    recorded["header_version"] = version;
    result.unknown = {"precision", "inputs", "outputs", "source_model"};
    if (version > 3) {
        result.oddities.push_back("header version " + std::to_string(version) +
                                  ": an unknown layout");
        result.unknown.insert(result.unknown.begin(), {"hw_arch", "sdk_version"});
        return result;
    }
    result.checksum = "not verified";
    std::uint64_t after = 0;
    switch (version) {
    case 0:
        recorded["checksum"] = "md5:" + hex(source, 16, 16);
        break;
    case 1:
        recorded["checksum"] = "crc32:" + hex(source, 12, 4);
        after = big_endian(source, 16, 8);
        break;
    default:
        recorded["checksum"] = "xxh3-64:" + hex(source, 12, 8);
        after = big_endian(source, 20, 8);
        if (version == 3) {
            const std::uint64_t more = big_endian(source, 32, 8);
            after = more > UINT64_MAX - after ? UINT64_MAX : after + more;
        }
    }
    const std::uint64_t rest = source.size() - header;
    if (size > rest || after != rest - size)
        result.damage.push_back("its header speaks of a description of " + std::to_string(size) +
                                " bytes and " + std::to_string(after) + " more, " +
                                std::to_string(rest) + " follow: cut off or changed");
    try {
        read_description(source, header, header + std::min(size, rest), result);
    } catch (const MalformedWire& malformed) {
        result.damage.push_back("the description is damaged at byte " +
                                std::to_string(malformed.offset) + ": " + malformed.what);
    }
    for (const char* key : {"sdk_version", "hw_arch"})
        if (!recorded.has(key))
            result.unknown.insert(result.unknown.begin(), key);
    return result;
}

void verify_hef(const ByteSource& source, Recognised& found) {
    const std::uint64_t version = big_endian(source, 4, 4);
    if (version > 3)
        return;
    ByteSource covered = source.part(header_sizes[version]);
    bool fits = false;
    if (version == 0) {
        fits = md5_of(covered) == hex(source, 16, 16);
    } else if (version == 1) {
        fits = crc32_of(covered) == big_endian(source, 12, 4);
    } else {
        std::uint64_t said = big_endian(source, 12, 8);
        if (const std::uint64_t description = version == 3 ? big_endian(source, 40, 8) : 0;
            description != 0) {
            said = description;
            covered = source.part(header_sizes[version], big_endian(source, 8, 4));
        }
        const auto sum = xxh3_64_of(covered);
        if (!sum)
            return;  // too short to be what a compiler wrote: it stays "not verified"
        fits = *sum == said;
    }
    found.checksum = fits ? "fits" : "differs";
    if (!fits)
        found.damage.push_back("the bytes do not give the checksum in its header: changed");
}

}  // namespace

std::vector<NamedRecogniser> recognisers_hailo_hef() {
    return {{"hailo-hef", recognise_hef, true, verify_hef}};
}

}  // namespace requal::artifact
