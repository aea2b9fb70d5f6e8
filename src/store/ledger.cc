#include "store/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "store/files.h"

namespace requal::store {

namespace {

/// Lines of a file, read in blocks.
class LineReader {
public:
    LineReader(const std::string& path, std::uint64_t offset, std::uint64_t end)
        : path_(path), file_(open_file(path)), position_(offset), end_(end) {}

    enum class Got { line, end, torn };
    Got next(std::string_view& line) {
        if (used_ > (1U << 20)) {
            buffer_.erase(0, used_);
            used_ = 0;
        }
        std::size_t searched = used_;
        while (true) {
            const std::size_t lf = buffer_.find('\n', searched);
            if (lf != std::string::npos) {
                line = std::string_view(buffer_).substr(used_, lf - used_);
                used_ = lf + 1;
                return Got::line;
            }
            searched = buffer_.size();
            if (buffer_.size() - used_ > line_limit_bytes)
                return Got::torn;
            if (!fill())
                return buffer_.size() == used_ ? Got::end : Got::torn;
        }
    }

private:
    bool fill() {
        const std::uint64_t wanted = std::min<std::uint64_t>(256 << 10, end_ - position_);
        const std::size_t before = buffer_.size();
        buffer_.resize(before + static_cast<std::size_t>(wanted));
        ssize_t count = 0;
        do {
            count = ::pread(file_.get(), buffer_.data() + before, static_cast<std::size_t>(wanted),
                            static_cast<off_t>(position_));
        } while (count < 0 && errno == EINTR);
        if (count < 0)
            fail(errno, "read", path_);
        buffer_.resize(before + static_cast<std::size_t>(count));
        position_ += static_cast<std::uint64_t>(count);
        return count > 0;
    }

    std::string path_;
    FileDescriptor file_;
    std::uint64_t position_;
    std::uint64_t end_;
    std::string buffer_;
    std::size_t used_ = 0;
};

Record parse_record(std::string_view line, const std::string& source) {
    JsonLimits limits;
    limits.size_bytes = line_limit_bytes;
    limits.values = 2'000'000;
    Json json = parse_json(line, source, limits);
    if (json.size() != 5)
        throw Error(ErrorKind::input, "a record has the keys body, prev, seq, time, type", source);
    Record record;
    const std::int64_t seq = json.at("seq").as_integer();
    if (seq < 0 || !json.at("seq").is_integer())
        throw Error(ErrorKind::input, "seq is no number of a record", source);
    record.seq = static_cast<std::uint64_t>(seq);
    record.prev = json.at("prev").as_string();
    record.type = json.at("type").as_string();
    check_word(record.type, "a record's type");
    if (!json.at("body").is_object() || !json.at("time").is_object())
        throw Error(ErrorKind::input, "body and time are objects", source);
    record.body = std::move(json["body"]);
    record.time = std::move(json["time"]);
    return record;
}

void write_at_end(int fd, std::string_view text, const std::string& path) {
    write_all(fd, std::as_bytes(std::span(text.data(), text.size())), path);
}

}  // namespace

Head read_head(const Layout& layout, const std::string& id) {
    const std::string path = layout.head(id);
    if (status_of(path).kind == Kind::absent)
        return {};
    const Json json = read_sealed(path);
    Head head;
    try {
        require_schema(json, "ledger-head", 1, path);
        if (json.at("ledger").as_string() != id)
            damaged("the head of another ledger", path);
        head.seq = static_cast<std::uint64_t>(json.at("seq").as_integer());
        head.offset = static_cast<std::uint64_t>(json.at("offset").as_integer());
        head.digest = parse_digest(json.at("digest").as_string());
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::storage)
            throw;
        damaged("no head of a ledger: " + error.message(), path);
    }
    return head;
}

void write_head(const Layout& layout, const std::string& id, const Head& head) {
    Json json = new_document("ledger-head", 1);
    json["ledger"] = id;
    json["seq"] = head.seq;
    json["offset"] = head.offset;
    json["digest"] = head.digest.text();
    write_file_atomically(layout.head(id), sealed_text(std::move(json)));
}

Head scan_ledger(const std::string& path, const Head& from, const std::function<void(Record)>& each,
                 std::string& torn, std::uint64_t end_offset) {
    torn.clear();
    Head head = from;
    if (from.offset > end_offset)
        damaged("the ledger is read behind its end", path);
    LineReader reader(path, from.offset, end_offset);
    while (true) {
        std::string_view line;
        const auto got = reader.next(line);
        if (got == LineReader::Got::end)
            return head;
        const std::string where = path + ":" + std::to_string(head.seq + 1);
        if (got == LineReader::Got::torn) {
            torn = "record " + std::to_string(head.seq) + " is cut off";
            return head;
        }
        Record record;
        try {
            record = parse_record(line, where);
        } catch (const Error& error) {
            torn = "record " + std::to_string(head.seq) + " is no record: " + error.message();
            return head;
        }
        if (record.seq != head.seq) {
            torn = "record " + std::to_string(head.seq) +
                   " is missing: " + std::to_string(record.seq) + " stands in its place";
            return head;
        }
        if (record.prev != head.digest.hex()) {
            torn = "record " + std::to_string(head.seq) +
                   " does not follow the one before it: one of the two was changed";
            return head;
        }
        record.offset = head.offset;
        record.length = line.size() + 1;
        head.digest = digest_of(line);
        head.offset += record.length;
        ++head.seq;
        if (each)
            each(std::move(record));
    }
}

Record read_record(const std::string& path, std::uint64_t offset, std::uint64_t length) {
    if (length == 0 || length > line_limit_bytes)
        damaged("a record of impossible length", path);
    LineReader reader(path, offset, offset + length);
    std::string_view line;
    if (reader.next(line) != LineReader::Got::line)
        damaged("a record is not where the index says", path);
    try {
        Record record = parse_record(line, path);
        record.offset = offset;
        record.length = length;
        return record;
    } catch (const Error& error) {
        damaged("no record where the index says: " + error.message(), path);
    }
}

std::string lines_of(const std::vector<NewRecord>& records, const Clock& clock, Head& head,
                     std::string& last_wall, std::vector<Record>& made) {
    std::string lines;
    for (const NewRecord& record : records) {
        check_word(record.type, "a record's type");
        Json time = time_stamp(clock);
        const std::string wall = time.at("wall").as_string();
        if (wall < last_wall)
            time["went_back"] = true;
        last_wall = wall;
        const Json json = Json::object({{"seq", head.seq},
                                        {"prev", head.digest.hex()},
                                        {"type", record.type},
                                        {"time", time},
                                        {"body", record.body}});
        const std::string line = write_json_compact(json);
        if (line.size() > line_limit_bytes)
            throw Error(ErrorKind::input, "a record of more than 16 MiB", record.type);
        made.push_back({head.seq, head.digest.hex(), record.type, record.body, std::move(time),
                        head.offset, line.size() + 1});
        head.digest = digest_of(line);
        head.offset += line.size() + 1;
        ++head.seq;
        lines += line;
        lines += '\n';
    }
    return lines;
}

void append_lines(const Layout& layout, const std::string& id, const Head& head,
                  const std::string& lines) {
    const std::string path = layout.ledger(id);
    const bool fresh = status_of(path).kind == Kind::absent;
    const FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file)
        fail(errno, "open", path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
        fail(errno, "look at", path);
    if (static_cast<std::uint64_t>(status.st_size) != head.offset)
        damaged("the ledger does not end where its head says", path);
    try {
        write_at_end(file.get(), lines, path);
        if (::fdatasync(file.get()) != 0)
            fail(errno, "flush", path);
        if (fresh)
            sync_folder(layout.ledgers());
    } catch (const Error&) {
        // Best effort: what stays behind the head is looked at by the next writer.
        if (::ftruncate(file.get(), static_cast<off_t>(head.offset)) != 0) {
        }
        throw;
    }
}

Head recover_ledger(const Layout& layout, const std::string& id) {
    const std::string path = layout.ledger(id);
    const Head head = read_head(layout, id);
    const Status status = status_of(path);
    if (status.kind == Kind::absent && head.offset == 0)
        return head;
    if (status.kind != Kind::file)
        damaged(status.kind == Kind::absent ? "the ledger is missing" : "no regular file", path);
    if (status.size_bytes < head.offset)
        damaged("records were removed from the end of the ledger: it has " +
                    std::to_string(status.size_bytes) + " bytes of " + std::to_string(head.offset),
                path);
    if (status.size_bytes == head.offset)
        return head;
    std::string torn;
    const Head end = scan_ledger(path, head, {}, torn);
    if (end.offset < status.size_bytes) {
        const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
        if (!file)
            fail(errno, "open", path);
        std::string rest(static_cast<std::size_t>(std::min<std::uint64_t>(
                             status.size_bytes - end.offset, line_limit_bytes)),
                         '\0');
        const ssize_t count =
            ::pread(file.get(), rest.data(), rest.size(), static_cast<off_t>(end.offset));
        if (count < 0)
            fail(errno, "read", path);
        rest.resize(static_cast<std::size_t>(count));
        write_file_atomically(
            layout.ledgers() + "/" + id + ".torn-" + digest_of(rest).hex().substr(0, 16), rest);
        if (::ftruncate(file.get(), static_cast<off_t>(end.offset)) != 0 ||
            ::fsync(file.get()) != 0)
            fail(errno, "set a torn record aside in", path);
    }
    if (!(end == head))
        write_head(layout, id, end);
    return end;
}

std::vector<std::string> ledger_ids(const Layout& layout) {
    std::vector<std::string> ids;
    if (status_of(layout.ledgers()).kind != Kind::folder)
        return ids;
    for (const std::string& name : names_in(layout.ledgers())) {
        if (name.size() == 22 && name.ends_with(".jsonl") && is_ledger_id(name.substr(0, 16)))
            ids.push_back(name.substr(0, 16));
        // A head without its ledger: the ledger was removed.
        if (name.size() == 21 && name.ends_with(".head") && is_ledger_id(name.substr(0, 16)))
            ids.push_back(name.substr(0, 16));
    }
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace requal::store
