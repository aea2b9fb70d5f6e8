// Builds YAML nodes from the events of yaml-cpp and refuses what is outside the strict subset.
// Events and not yaml-cpp's nodes: those keep the first of two equal keys in silence and forget quotes and places.
#include <algorithm>
#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/error.h"
#include "base/text.h"
#include "base/yaml.h"
#include "base/yaml_plain.h"

namespace requal {

/// Handles the events of one document.
class YamlBuilder final : public YAML::EventHandler {
public:
    YamlBuilder(std::string_view text, std::string source, const YamlLimits& limits)
        : text_(text), source_(std::move(source)), limits_(limits) {
        root_.where_ = source_ + ":1";
    }

    Yaml take() { return std::move(root_); }

    [[noreturn]] void fail(int line, std::string message, std::string next) const {
        throw Error(ErrorKind::input, std::move(message), source_ + ":" + std::to_string(line),
                    std::move(next));
    }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (documents_++ > 0)
            fail(line_of(mark), "a second document, or text that does not belong to the first",
                 "keep one document in a file");
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        // The event does not tell a tag in front of nothing; the text does.
        refuse_properties(mark, character_at(mark) == '!' ? "!" : "", anchor);
        if (expects_key())
            fail(line_of(mark), "a key without a name", "write the key as text");
        add(make(Yaml::Kind::null, mark));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        fail(line_of(mark), "aliases (*name) are not allowed", "write the value out");
    }
    void OnAnchor(const YAML::Mark& mark, const std::string&) override {
        fail(line_of(mark), "anchors (&name) are not allowed",
             "write the value out where it is used");
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        const char first = character_at(mark);
        // yaml-cpp gives a quoted scalar the tag "!", which someone may also have written.
        const bool quoted =
            tag == "!" && std::string_view("'\"|>").find(first) != std::string_view::npos;
        refuse_properties(mark, quoted ? "" : tag, anchor);
        if (quoted && (first == '\'' || first == '"'))
            refuse_open_quotes(mark);
        if (!quoted) {
            if (const std::string_view why = why_ambiguous(value); !why.empty()) {
                const std::string next =
                    value == "<<" ? "write the keys out" : "put it in quotes where text is meant";
                fail(line_of(mark),
                     "'" + value.substr(0, 60) + "' without quotes: " + std::string(why), next);
            }
        }
        if (expects_key()) {
            Frame& frame = open_.back();
            if (!frame.names.insert(value).second)
                fail(line_of(mark), "duplicate key '" + value.substr(0, 80) + "'",
                     "keep one of them");
            frame.key = value;
            frame.key_where = where(mark);
            frame.has_key = true;
            return;
        }
        Yaml node = make(Yaml::Kind::scalar, mark);
        node.quoted_ = quoted;
        node.scalar_ = value;
        add(std::move(node));
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Yaml::Kind::sequence);
    }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, tag, anchor, Yaml::Kind::map);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapEnd() override { close(); }

private:
    /// A map or sequence that is not complete yet.
    struct Frame {
        Yaml node;
        std::set<std::string, std::less<>> names;
        std::string key;
        std::string key_where;
        bool has_key = false;
    };

    static int line_of(const YAML::Mark& mark) { return std::max(mark.line, 0) + 1; }
    std::string where(const YAML::Mark& mark) const {
        return source_ + ":" + std::to_string(line_of(mark));
    }
    char character_at(const YAML::Mark& mark) const {
        const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
        return at < text_.size() ? text_[at] : '\0';
    }
    bool expects_key() const {
        return !open_.empty() && open_.back().node.kind_ == Yaml::Kind::map &&
               !open_.back().has_key;
    }

    void refuse_properties(const YAML::Mark& mark, const std::string& tag,
                           YAML::anchor_t anchor) const {
        if (anchor != 0)
            fail(line_of(mark), "anchors (&name) are not allowed",
                 "write the value out where it is used");
        if (!tag.empty() && tag != "?")
            fail(line_of(mark), "tags (" + tag.substr(0, 60) + ") are not allowed",
                 "leave the tag out");
    }

    /// yaml-cpp takes the end of the file for the missing quotation mark when a line end stands before it.
    void refuse_open_quotes(const YAML::Mark& mark) const {
        std::size_t at = static_cast<std::size_t>(mark.pos);
        const char quote = text_[at];
        while (++at < text_.size()) {
            if (quote == '"' && text_[at] == '\\') {
                ++at;
            } else if (text_[at] == quote) {
                if (quote == '"' || at + 1 == text_.size() || text_[at + 1] != quote)
                    return;
                ++at;
            }
        }
        fail(line_of(mark), "quotes that are not closed", "close them");
    }

    Yaml make(Yaml::Kind kind, const YAML::Mark& mark) {
        if (++nodes_ > limits_.nodes)
            fail(line_of(mark), "more than " + std::to_string(limits_.nodes) + " values",
                 "split the file");
        Yaml node;
        node.kind_ = kind;
        node.where_ = where(mark);
        node.key_where_ = node.where_;
        if (open_.empty())
            return node;
        const Frame& frame = open_.back();
        if (frame.node.kind_ == Yaml::Kind::sequence) {
            node.path_ = frame.node.path_ + "[" + std::to_string(frame.node.items_.size()) + "]";
        } else {
            node.path_ =
                frame.node.path_ + (frame.node.path_.empty() ? "" : ".") + frame.key.substr(0, 80);
            node.key_where_ = frame.key_where;
            // The mark of a value that is not there is the one of whatever follows.
            if (kind == Yaml::Kind::null)
                node.where_ = frame.key_where;
        }
        return node;
    }

    void add(Yaml node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Frame& frame = open_.back();
        if (frame.node.kind_ == Yaml::Kind::sequence) {
            frame.node.items_.push_back(std::move(node));
        } else {
            frame.node.members_.emplace_back(std::move(frame.key), std::move(node));
            frame.has_key = false;
        }
    }

    void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
              Yaml::Kind kind) {
        refuse_properties(mark, tag, anchor);
        if (expects_key())
            fail(line_of(mark), "a map or sequence as a key", "write the key as text");
        if (static_cast<int>(open_.size()) >= limits_.depth)
            fail(line_of(mark), "nested deeper than " + std::to_string(limits_.depth) + " levels",
                 "flatten the document");
        Frame frame;
        frame.node = make(kind, mark);
        open_.push_back(std::move(frame));
    }

    void close() {
        Yaml node = std::move(open_.back().node);
        open_.pop_back();
        add(std::move(node));
    }

    std::string_view text_;
    std::string source_;
    YamlLimits limits_;
    Yaml root_;
    std::vector<Frame> open_;
    std::size_t nodes_ = 0;
    int documents_ = 0;
};

namespace {

/// What is easier to see in the lines than in the events.
void refuse_bytes(std::string_view text, const YamlBuilder& builder) {
    int line = 0;
    for (std::string_view rest = text; !rest.empty();) {
        ++line;
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view content = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (content.ends_with('\r'))
            content.remove_suffix(1);
        if (!is_utf8(content))
            builder.fail(line, "not UTF-8", "save the file as UTF-8");
        const auto control = std::find_if(content.begin(), content.end(), [](char c) {
            return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
        });
        if (control != content.end())
            builder.fail(line, "a control character: '" + std::string(1, *control) + "'",
                         "remove it");
        for (const std::string_view separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
            if (content.find(separator) != std::string_view::npos)
                builder.fail(line, "a Unicode line separator, which YAML versions read differently",
                             "use plain line ends");
        }
        const std::size_t first = content.find_first_not_of(" \t");
        if (first != std::string_view::npos &&
            content.substr(0, first).find('\t') != std::string_view::npos)
            builder.fail(line, "a tab as indentation", "indent with spaces");
        if (content.starts_with('%'))
            builder.fail(line, "directives (%) are not allowed", "leave the line out");
    }
}

}  // namespace

Yaml parse_yaml(std::string_view text, std::string_view source, const YamlLimits& limits) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    YamlBuilder builder(text, std::string(source), limits);
    if (text.size() > limits.size_bytes)
        builder.fail(
            1, "YAML larger than the " + std::to_string(limits.size_bytes) + " bytes allowed here",
            "check that this is the file you mean");
    refuse_bytes(text, builder);
    try {
        std::istringstream stream{std::string(text)};
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const YAML::Exception& error) {
        builder.fail(std::max(error.mark.line, 0) + 1, "not valid YAML: " + error.msg,
                     "mend the file");
    }
    return builder.take();
}

}  // namespace requal
