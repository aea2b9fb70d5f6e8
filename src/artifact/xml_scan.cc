#include "artifact/xml_scan.h"

#include <algorithm>

namespace requal::artifact {

namespace {

constexpr std::size_t name_limit = 200;
constexpr std::size_t value_limit = 65536;
constexpr std::size_t attribute_limit = 200;
constexpr std::size_t depth_limit = 200;
constexpr std::uint64_t comment_limit = std::uint64_t{1} << 20;
constexpr std::size_t text_limit = 1000;

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string_view XmlTag::attribute(std::string_view wanted) const {
    for (const auto& [key, value] : attributes)
        if (key == wanted)
            return value;
    return {};
}

void XmlScanner::fail(std::string what) const {
    throw MalformedXml{at_, std::move(what)};
}

char XmlScanner::peek() const {
    const std::string_view byte = source_.view(at_, 1);
    if (byte.empty())
        fail("cut off");
    return byte[0];
}

bool XmlScanner::skip(std::string_view wanted) {
    if (source_.view(at_, wanted.size()) != wanted)
        return false;
    at_ += wanted.size();
    return true;
}

void XmlScanner::skip_past(std::string_view end) {
    const std::uint64_t limit = at_ + comment_limit;
    while (at_ < source_.size()) {
        if (at_ > limit)
            fail("a comment longer than " + std::to_string(comment_limit) + " bytes");
        const std::string_view bytes = source_.view(at_, ByteSource::window_bytes);
        const std::size_t found = bytes.find(end);
        if (found != std::string_view::npos) {
            at_ += found + end.size();
            return;
        }
        if (bytes.size() < end.size())
            break;
        at_ += bytes.size() - (end.size() - 1);
    }
    fail("cut off");
}

void XmlScanner::skip_space() {
    while (at_ < source_.size() && is_space(peek()))
        ++at_;
}

std::string XmlScanner::name() {
    std::string text;
    while (is_name(peek())) {
        if (text.size() == name_limit)
            fail("a name longer than " + std::to_string(name_limit) + " bytes");
        text += peek();
        ++at_;
    }
    if (text.empty())
        fail("no name");
    return text;
}

std::string XmlScanner::value() {
    const char quote = peek();
    if (quote != '"' && quote != '\'')
        fail("a value without quotes");
    ++at_;
    std::string text;
    while (peek() != quote) {
        if (text.size() >= value_limit)
            fail("a value longer than " + std::to_string(value_limit) + " bytes");
        const char c = peek();
        if (c == '<')
            fail("'<' in a value");
        if (c != '&') {
            text += c;
            ++at_;
            continue;
        }
        static constexpr std::pair<std::string_view, char> entities[] = {
            {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
        const auto* known = std::find_if(std::begin(entities), std::end(entities),
                                         [&](const auto& entity) { return skip(entity.first); });
        if (known != std::end(entities)) {
            text += known->second;
        } else {  // numbers of characters and unknown names stay as they are written
            text += c;
            ++at_;
        }
    }
    ++at_;
    return text;
}

bool XmlScanner::next(XmlTag& tag) {
    tag.text.clear();
    tag.attributes.clear();
    for (;;) {
        while (at_ < source_.size() && peek() != '<') {
            if (peek() == '\0')
                fail("a zero byte");
            if (!open_.empty() && tag.text.size() < text_limit &&
                (!tag.text.empty() || !is_space(peek())))
                tag.text += peek();
            ++at_;
        }
        if (at_ >= source_.size()) {
            if (!open_.empty())
                fail("cut off inside <" + open_.back() + ">");
            return false;
        }
        tag.offset = at_;
        if (skip("<!--"))
            skip_past("-->");
        else if (skip("<?"))
            skip_past("?>");
        else
            break;
    }
    while (!tag.text.empty() && is_space(tag.text.back()))
        tag.text.pop_back();
    ++at_;  // '<'
    if (peek() == '!')
        fail("a document type or CDATA, which artefacts do not need");
    const bool close = skip("/");
    tag.name = name();
    skip_space();
    while (is_name(peek())) {
        if (close || tag.attributes.size() == attribute_limit)
            fail("too many attributes");
        std::string key = name();
        skip_space();
        if (!skip("="))
            fail("an attribute without a value");
        skip_space();
        tag.attributes.emplace_back(std::move(key), value());
        skip_space();
    }
    const bool empty = skip("/");
    if (!skip(">") || (close && empty))
        fail("a tag that does not end");
    tag.end = at_;
    tag.kind = close ? XmlTag::Kind::close : empty ? XmlTag::Kind::empty : XmlTag::Kind::open;
    if (close) {
        if (open_.empty() || open_.back() != tag.name)
            fail("</" + tag.name + "> closes nothing");
        open_.pop_back();
    } else if (!empty) {
        if (open_.size() == depth_limit)
            fail("more than " + std::to_string(depth_limit) + " open tags");
        open_.push_back(tag.name);
    }
    return true;
}

}  // namespace requal::artifact
