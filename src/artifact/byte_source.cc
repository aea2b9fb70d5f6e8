#include "artifact/byte_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace requal::artifact {

struct ByteSource::File {
    FileDescriptor fd;
    std::string path;
    std::vector<char> window = std::vector<char>(window_bytes);
    std::uint64_t window_start = 0;
    std::size_t window_size = 0;

    // Reads at `offset` until `count` bytes are there or the file ends (it may have been shortened since).
    std::size_t read_at(std::uint64_t offset, char* into, std::size_t count) const {
        std::size_t done = 0;
        while (done < count) {
            const ssize_t got =
                ::pread(fd.get(), into + done, count - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                throw_errno(errno, "read", path);
            if (got == 0)
                break;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }
};

ByteSource ByteSource::open(const std::string& path) {
    ByteSource source;
    source.file_ = std::make_shared<File>();
    source.file_->fd = open_regular_file(path);
    source.file_->path = path;
    const off_t end = ::lseek(source.file_->fd.get(), 0, SEEK_END);
    if (end < 0)
        throw_errno(errno, "read", path);
    source.size_ = static_cast<std::uint64_t>(end);
    return source;
}

ByteSource ByteSource::over(std::string_view bytes) {
    ByteSource source;
    source.memory_ = bytes;
    source.size_ = bytes.size();
    return source;
}

std::string_view ByteSource::view(std::uint64_t offset, std::size_t count) const {
    if (offset >= size_)
        return {};
    count =
        static_cast<std::size_t>(std::min<std::uint64_t>({count, window_bytes, size_ - offset}));
    const std::uint64_t at = start_ + offset;
    if (!file_)
        return memory_.substr(static_cast<std::size_t>(at), count);
    File& file = *file_;
    if (at < file.window_start || at + count > file.window_start + file.window_size) {
        file.window_start = at;
        file.window_size = file.read_at(at, file.window.data(), file.window.size());
    }
    const std::size_t skip = static_cast<std::size_t>(at - file.window_start);
    if (skip >= file.window_size)
        return {};
    return std::string_view(file.window.data(), file.window_size).substr(skip, count);
}

std::string ByteSource::read(std::uint64_t offset, std::size_t count) const {
    if (offset >= size_)
        return {};
    count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - offset));
    if (!file_)
        return std::string(memory_.substr(static_cast<std::size_t>(start_ + offset), count));
    std::string bytes(count, '\0');
    bytes.resize(file_->read_at(start_ + offset, bytes.data(), count));
    return bytes;
}

ByteSource ByteSource::part(std::uint64_t offset, std::uint64_t count) const {
    ByteSource source = *this;
    offset = std::min(offset, size_);
    source.start_ = start_ + offset;
    source.size_ = std::min(count, size_ - offset);
    return source;
}

std::optional<std::uint64_t> ByteSource::little_endian(std::uint64_t offset,
                                                       std::size_t width) const {
    const std::string_view bytes = view(offset, width);
    if (bytes.size() < width)
        return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t at = width; at-- > 0;)
        value = value << 8 | static_cast<unsigned char>(bytes[at]);
    return value;
}

}  // namespace requal::artifact
