#include "measure/accuracy/kept_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <span>

#include "base/error.h"

namespace requal::measure {

namespace {

constexpr std::size_t longest_line = std::size_t{256} << 20;

/// Calls `use(line)` for whole lines until it says no; returns the bytes of those that it took.
std::uint64_t whole_lines(const std::string& path,
                          const std::function<bool(const std::string&)>& use) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw_errno(errno, "cannot read", path);
    }
    std::uint64_t taken = 0;
    std::string line;
    while (std::getline(file, line)) {
        if (file.eof() || line.size() > longest_line || !use(line)) {
            break;  // without its end of line: torn
        }
        taken += line.size() + 1;
    }
    return taken;
}

}  // namespace

KeptLines::KeptLines(std::string path, const Json& made_by) : path_(std::move(path)) {
    const std::uint64_t whole = file_exists(path_) ? read_kept(made_by) : 0;
    file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (!file_) {
        throw_errno(errno, "cannot write", path_);
    }
    // a torn last line goes: its sample is run again
    if (ftruncate(file_.get(), static_cast<off_t>(whole)) != 0 ||
        lseek(file_.get(), 0, SEEK_END) < 0) {
        throw_errno(errno, "cannot cut", path_);
    }
    if (whole == 0) {
        const std::string text = write_json_compact(made_by) + "\n";
        write_all(file_.get(), std::as_bytes(std::span(text)), path_);
    }
}

std::uint64_t KeptLines::read_kept(const Json& made_by) {
    bool first = true;
    return whole_lines(path_, [&](const std::string& line) {
        if (first) {
            first = false;
            if (parse_json(line, path_) != made_by) {
                throw Error(ErrorKind::input, "was begun by another runnable, spec or labelled set",
                            path_, "remove it, or give another folder");
            }
            return true;
        }
        done_.insert(parse_json(line, path_).at("id").as_integer());
        return true;
    });
}

void KeptLines::add(std::int64_t id, Json line) {
    line["id"] = id;
    const std::string text = write_json_compact(line) + "\n";
    write_all(file_.get(), std::as_bytes(std::span(text)), path_);
    done_.insert(id);
}

void KeptLines::each(const std::function<void(std::int64_t, const Json&)>& use) const {
    bool first = true;
    whole_lines(path_, [&](const std::string& text) {
        if (!first) {
            const Json line = parse_json(text, path_);
            use(line.at("id").as_integer(), line);
        }
        first = false;
        return true;
    });
}

}  // namespace requal::measure
