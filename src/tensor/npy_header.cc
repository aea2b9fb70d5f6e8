#include "tensor/npy_header.h"

#include <charconv>

#include "base/error.h"

namespace requal {
namespace {

constexpr std::size_t header_limit_bytes = 64 << 10;
constexpr std::size_t dimensions_limit = 64;  // numpy's own limit

[[noreturn]] void refuse(std::string message, std::string_view source, std::string next = {}) {
    throw Error(ErrorKind::input, std::move(message), std::string(source), std::move(next));
}

/// Reads the Python literal of a header: a dict with exactly the keys descr, fortran_order and
/// shape.
class LiteralReader {
public:
    LiteralReader(std::string_view text, std::string_view source) : rest_(text), source_(source) {}

    void read(std::string& descr, bool& fortran_order, Shape& shape) {
        bool has_descr = false;
        bool has_order = false;
        bool has_shape = false;
        expect('{');
        while (!accept('}')) {
            std::string key = quoted();
            expect(':');
            if (key == "descr") {
                once(has_descr, key);
                descr = read_descr();
            } else if (key == "fortran_order") {
                once(has_order, key);
                fortran_order = boolean();
            } else if (key == "shape") {
                once(has_shape, key);
                shape = tuple();
            } else {
                bad("unknown key '" + key + "'");
            }
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (!rest_.empty())
            bad("text after the dictionary");
        if (!has_descr || !has_order || !has_shape)
            bad("one of the keys descr, fortran_order and shape is missing");
    }

private:
    [[noreturn]] void bad(const std::string& what) const {
        refuse("the npy header is malformed: " + what, source_, "write it again with numpy.save");
    }

    void once(bool& seen, const std::string& key) const {
        if (seen)
            bad("key '" + key + "' twice");
        seen = true;
    }

    void skip_space() {
        std::size_t first = rest_.find_first_not_of(" \t\r\n");
        rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
    }

    bool accept(char wanted) {
        skip_space();
        if (rest_.empty() || rest_.front() != wanted)
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    void expect(char wanted) {
        if (!accept(wanted))
            bad(std::string("'") + wanted + "' expected");
    }

    std::string quoted() {
        skip_space();
        if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"'))
            bad("a quoted word expected");
        std::size_t end = rest_.find(rest_.front(), 1);
        if (end == std::string_view::npos)
            bad("a quoted word does not end");
        std::string word(rest_.substr(1, end - 1));
        if (word.find('\\') != std::string::npos)
            bad("a backslash in a quoted word");
        rest_.remove_prefix(end + 1);
        return word;
    }

    std::string read_descr() {
        skip_space();
        if (!rest_.empty() && rest_.front() == '[')
            refuse("the array has a structured type (records with named fields)", source_,
                   "save each field as an array of its own");
        return quoted();
    }

    bool word(std::string_view wanted) {
        if (rest_.substr(0, wanted.size()) != wanted)
            return false;
        rest_.remove_prefix(wanted.size());
        return true;
    }

    bool boolean() {
        skip_space();
        if (word("True"))
            return true;
        if (word("False"))
            return false;
        bad("True or False expected");
    }

    Shape tuple() {
        Shape shape;
        bool comma = true;
        expect('(');
        while (!accept(')')) {
            if (!comma)
                bad("',' expected in the shape");
            skip_space();
            std::int64_t dimension = 0;
            if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9')
                bad("a dimension that is not a number from 0 on");
            auto [after, error] =
                std::from_chars(rest_.data(), rest_.data() + rest_.size(), dimension);
            if (error != std::errc())
                bad("a dimension past 2^63");
            rest_.remove_prefix(static_cast<std::size_t>(after - rest_.data()));
            if (!rest_.empty() && rest_.front() == 'L')  // Python 2 wrote its long integers so
                rest_.remove_prefix(1);
            shape.push_back(dimension);
            if (shape.size() > dimensions_limit)
                bad("more than 64 dimensions");
            comma = accept(',');
        }
        if (shape.size() == 1 && !comma)
            bad("the shape is a number and not a tuple");
        return shape;
    }

    std::string_view rest_;
    std::string_view source_;
};

void read_type(std::string_view descr, NpyHeader& header, std::string_view source) {
    std::string quoted = "'" + std::string(descr) + "'";
    char order = '|';
    std::string_view code = descr;
    if (!code.empty() && std::string_view("<>|=").find(code.front()) != std::string_view::npos) {
        order = code.front();
        code.remove_prefix(1);
    }
    if (code.empty())
        refuse("the npy header names no element type: " + quoted, source);
    if (code.front() == 'O')
        refuse(
            "the array holds pickled Python objects, which are not read because they can run code",
            source, "save it with a numeric type or as strings (dtype=str)");
    if (code.front() == 'M' || code.front() == 'm')
        refuse("element type " + quoted + " (dates, time spans) has no ONNX type", source,
               "convert the array first, for example with astype('int64')");
    std::uint64_t size = 0;
    auto [after, error] = std::from_chars(code.data() + 1, code.data() + code.size(), size);
    if (error != std::errc() || after != code.data() + code.size() || size > (1U << 30))
        refuse("unknown element type " + quoted, source);
    header.item_bytes = size;
    header.big_endian = order == '>';
    auto number = [&](ElementType type) {
        header.type = type;
        header.kind = NpyHeader::Kind::number;
    };
    if (code.front() == 'U' || code.front() == 'S' || code.front() == 'a') {
        header.type = ElementType::string;
        header.kind = code.front() == 'U' ? NpyHeader::Kind::unicode : NpyHeader::Kind::bytes;
        header.item_bytes = code.front() == 'U' ? size * 4 : size;
        return;
    }
    struct Code {
        std::string_view code;
        ElementType type;
    };
    static constexpr Code codes[] = {
        {"f2", ElementType::float16},   {"f4", ElementType::float32},
        {"f8", ElementType::float64},   {"b1", ElementType::boolean},
        {"i1", ElementType::int8},      {"i2", ElementType::int16},
        {"i4", ElementType::int32},     {"i8", ElementType::int64},
        {"u1", ElementType::uint8},     {"u2", ElementType::uint16},
        {"u4", ElementType::uint32},    {"u8", ElementType::uint64},
        {"c8", ElementType::complex64}, {"c16", ElementType::complex128},
        {"V2", ElementType::bfloat16},
    };
    for (const Code& known : codes) {
        if (known.code == code)
            return number(known.type);
    }
    refuse("element type " + quoted + " has no ONNX type", source,
           "convert the array first, for example with astype('float32')");
}

}  // namespace

NpyHeader read_npy_header(std::span<const std::byte> bytes, std::string_view source) {
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.empty())
        refuse("the file is empty, no npy array", source);
    if (text.substr(0, 6) != "\x93NUMPY")
        refuse("not an npy array: it does not begin with \\x93NUMPY", source,
               "write it with numpy.save");
    if (text.size() < 10)
        refuse("the npy header is truncated", source);
    auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
    unsigned major = byte(6);
    if (major < 1 || major > 3 || byte(7) != 0)
        refuse("npy format version " + std::to_string(major) + "." + std::to_string(byte(7)) +
                   " is not known (1.0, 2.0 and 3.0 are)",
               source);
    std::size_t begin = major == 1 ? 10 : 12;
    std::size_t length = byte(8) | static_cast<std::size_t>(byte(9)) << 8;
    if (major > 1) {
        if (text.size() < 12)
            refuse("the npy header is truncated", source);
        length |= static_cast<std::size_t>(byte(10)) << 16 | static_cast<std::size_t>(byte(11))
                                                                 << 24;
    }
    if (length > header_limit_bytes)
        refuse("the npy header says it is " + std::to_string(length) + " bytes long (limit " +
                   std::to_string(header_limit_bytes) + ")",
               source);
    if (length > text.size() - begin)
        refuse("the npy header is truncated", source);

    NpyHeader header;
    std::string descr;
    LiteralReader(text.substr(begin, length), source)
        .read(descr, header.fortran_order, header.shape);
    read_type(descr, header, source);
    try {
        header.count = element_count(header.shape);
    } catch (const Error& error) {
        refuse(error.message(), source);
    }
    if (header.item_bytes != 0 && header.count > (std::uint64_t{1} << 62) / header.item_bytes)
        refuse("shape " + text_of(header.shape) + " has more elements than memory can hold",
               source);
    header.data_offset = begin + length;
    header.data_bytes = header.count * header.item_bytes;
    return header;
}

std::string npy_header_text(std::string_view descr, const Shape& shape) {
    if (shape.size() > dimensions_limit)
        throw Error(ErrorKind::input, "numpy has no arrays of more than 64 dimensions");
    std::string text = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        text += std::to_string(shape[i]);
        if (shape.size() == 1)
            text += ',';
        else if (i + 1 < shape.size())
            text += ", ";
    }
    text += "), }";
    std::size_t total = (10 + text.size() + 1 + 63) / 64 * 64;
    text.append(total - 10 - text.size() - 1, ' ');
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(text.size() & 0xFF);
    header += static_cast<char>(text.size() >> 8);
    return header + text;
}

}  // namespace requal
