// npz: a zip archive whose members are all npy files (numpy.lib.format). Types and shapes are read where the member is stored;
// of a compressed one only the size is known without unpacking it.
#include "artifact/recognise.h"
#include "artifact/zip_directory.h"

namespace requal::artifact {

namespace {

constexpr std::size_t shown_arrays = 1000;

// The value of 'descr', 'fortran_order' or 'shape' in the header's Python literal, as text; empty when it is not there.
std::string literal_of(std::string_view header, std::string_view key) {
    std::size_t at = header.find("'" + std::string(key) + "'");
    if (at == std::string_view::npos)
        return {};
    at = header.find(':', at);
    if (at == std::string_view::npos)
        return {};
    at = header.find_first_not_of(' ', at + 1);
    if (at == std::string_view::npos)
        return {};
    std::string_view rest = header.substr(at);
    if (rest[0] == '(' || rest[0] == '[') {
        const std::size_t end = rest.find(rest[0] == '(' ? ')' : ']');
        return end == std::string_view::npos ? std::string() : std::string(rest.substr(0, end + 1));
    }
    if (rest[0] == '\'') {
        const std::size_t end = rest.find('\'', 1);
        return end == std::string_view::npos ? std::string() : std::string(rest.substr(1, end - 1));
    }
    return std::string(rest.substr(0, rest.find_first_of(",}")));
}

// Shape "(2, 3,)" as an array; null when it does not read.
Json shape_of(const std::string& literal) {
    if (literal.empty() || literal[0] != '(')
        return Json();
    Json shape = Json::array();
    std::int64_t value = -1;
    for (std::size_t at = 1; at < literal.size(); ++at) {
        const char c = literal[at];
        if (c >= '0' && c <= '9') {
            if (value > (INT64_MAX - 9) / 10 || shape.size() >= 64)
                return Json();
            value = (value < 0 ? 0 : value * 10) + (c - '0');
        } else if (c == ',' || c == ')') {
            if (value >= 0)
                shape.push_back(value);
            value = -1;
        } else if (c != ' ' && c != 'L') {
            return Json();
        }
    }
    return shape;
}

Json describe(const ByteSource& source, const ZipMember& member) {
    std::string name = member.name.substr(0, member.name.size() - 4);
    Json array = Json::object({{"name", name}, {"size_bytes", Json(member.size_bytes)}});
    const std::string head = read_stored_head(source, member, 4096);
    if (head.size() < 12 || head.compare(0, 6, "\x93NUMPY") != 0)
        return array;
    const std::size_t begin = head[6] == 1 ? 10 : 12;
    const std::string_view header = std::string_view(head).substr(begin);
    const std::string type = literal_of(header, "descr");
    if (!type.empty())
        array["type"] = type;
    const Json shape = shape_of(literal_of(header, "shape"));
    if (!shape.is_null())
        array["shape"] = shape;
    return array;
}

std::optional<Recognised> recognise_npz(const ByteSource& source) {
    const auto directory = read_zip_directory(source);
    if (!directory)
        return std::nullopt;
    for (const ZipMember& member : directory->members)
        if (member.name.size() < 4 || member.name.substr(member.name.size() - 4) != ".npy")
            return std::nullopt;
    Recognised result;
    if (!directory->problem.empty()) {
        result.damage.push_back(directory->problem);
        return result;
    }
    if (directory->members.empty())
        return std::nullopt;
    result.kind = "npz";
    Json arrays = Json::array();
    bool all_types = true;
    for (const ZipMember& member : directory->members) {
        if (arrays.size() == shown_arrays)
            break;
        arrays.push_back(describe(source, member));
        all_types = all_types && arrays.as_array().back().has("shape");
    }
    result.recorded["arrays"] = arrays;
    result.recorded["arrays_total"] = directory->total;
    if (directory->total > shown_arrays)
        result.oddities.push_back("only the first " + std::to_string(shown_arrays) +
                                  " arrays are listed");
    if (!all_types)
        result.unknown.push_back("type and shape of compressed arrays");
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_npz() {
    return {{"npz", recognise_npz}};
}

}  // namespace requal::artifact
