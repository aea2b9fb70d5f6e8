// CSV with a head line: file, class, and any of tags (blanks between) and numeric attributes.
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/label_reader.h"

namespace requal::data {

namespace {

std::vector<std::string> csv_cells(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
            cells.back() += '"';
            ++i;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

void read_row(LabelReader& reader, const std::vector<std::string>& head,
              const std::vector<std::string>& cells, const std::string& where,
              std::unordered_set<std::string>& names) {
    LabelledSample sample;
    sample.id = static_cast<std::int64_t>(reader.part.samples.size()) + 1;
    for (std::size_t i = 0; i < head.size(); ++i) {
        if (head[i] == "file") {
            sample.name = cells[i];
        } else if (head[i] == "class") {
            sample.category_id = reader.class_id(cells[i], where);
        } else if (head[i] == "tags") {
            for (std::size_t from = 0; from < cells[i].size();) {
                const std::size_t to = std::min(cells[i].find(' ', from), cells[i].size());
                if (to > from) {
                    sample.tags.push_back(cells[i].substr(from, to - from));
                }
                from = to + 1;
            }
        } else if (!cells[i].empty()) {
            const auto value = parse_real(cells[i]);
            if (!value) {
                reader.error("wrong-type", where, head[i] + " is no number: '" + cells[i] + "'");
                continue;
            }
            sample.attributes[head[i]] = *value;
        }
    }
    if (*sample.category_id < 0) {
        return;
    }
    if (!names.insert(sample.name).second) {
        reader.error("duplicate-name", where, "the same file is listed a second time");
        return;
    }
    if (const auto path = reader.path_of(sample.name, where)) {
        sample.path = *path;
        reader.part.samples.push_back(std::move(sample));
    }
}

}  // namespace

/// CSV with a head line: file, class, and any of tags (blanks between) and numeric attributes.
void read_csv(LabelReader& reader) {
    reader.given_classes();
    const std::string text = read_file(reader.part.source.labels, label_limits.size_bytes);
    reader.part.labels_digest = digest_of(text);
    std::vector<std::string> head;
    std::unordered_set<std::string> names;
    TextLines lines(text);
    for (std::string_view line; lines.next(line);) {
        if (line.empty()) {
            continue;
        }
        const std::string where = reader.part.source.labels + ":" + std::to_string(lines.number());
        std::vector<std::string> cells = csv_cells(line);
        if (head.empty()) {
            head = std::move(cells);
            if (std::count(head.begin(), head.end(), "file") != 1 ||
                std::count(head.begin(), head.end(), "class") != 1) {
                throw Error(ErrorKind::input, "the head line has no columns 'file' and 'class'",
                            where, "begin with: file,class");
            }
            continue;
        }
        if (cells.size() != head.size()) {
            reader.error("wrong-type", where,
                         "has " + std::to_string(cells.size()) + " cells where the head line has " +
                             std::to_string(head.size()));
            continue;
        }
        read_row(reader, head, cells, where, names);
    }
}

}  // namespace requal::data
