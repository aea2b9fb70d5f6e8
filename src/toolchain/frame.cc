#include "toolchain/frame.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace requal::toolchain {

namespace {

constexpr char magic[4] = {'R', 'Q', 'F', '1'};
constexpr std::size_t prefix_bytes = 12;  // magic, header size, attachment count
constexpr std::size_t read_ahead_bytes = std::size_t{64}
                                         << 10;  // one read for the usual small frame
constexpr std::size_t first_block_bytes = std::size_t{64}
                                          << 20;  // a declared size is believed up to here
constexpr int header_depth = 64;

[[noreturn]] void broken(std::string message) {
    throw Error(ErrorKind::toolchain, std::move(message));
}

std::int64_t monotonic_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// -1 for "for ever".
std::int64_t deadline_after(std::int64_t timeout_ns) {
    if (timeout_ns < 0) {
        return -1;
    }
    const std::int64_t now = monotonic_now();
    return timeout_ns > std::numeric_limits<std::int64_t>::max() - now
               ? std::numeric_limits<std::int64_t>::max()
               : now + timeout_ns;
}

template <typename Number>
void put_little_endian(std::string& target, Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        target.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
    }
}

std::uint64_t little_endian(const char* bytes, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return value;
}

/// What a peer wrote where a frame should begin, short enough for one line.
std::string first_bytes(std::string_view bytes) {
    std::string text(bytes.substr(0, 24));
    text.erase(std::find(text.begin(), text.end(), '\n'), text.end());
    return text;
}

}  // namespace

FrameChannel::FrameChannel(int read_fd, int write_fd, FrameLimits limits, Watch watch)
    : read_fd_(read_fd), write_fd_(write_fd), limits_(limits), watch_(std::move(watch)) {
    if (watch_.check) {
        // A blocking write of a large frame would wait without looking after anything.
        const int flags = fcntl(write_fd_, F_GETFL);
        if (flags >= 0) {
            fcntl(write_fd_, F_SETFL, flags | O_NONBLOCK);
        }
    }
}

void FrameChannel::wait_for(int fd, short events, std::int64_t deadline_ns, const char* what) {
    for (;;) {
        const std::int64_t now = monotonic_now();
        if (watch_.check && now - checked_ns_ >= watch_.interval_ns) {
            checked_ns_ = now;
            watch_.check();
        }
        std::int64_t wait_ns = watch_.check ? watch_.interval_ns : -1;
        if (deadline_ns >= 0) {
            if (now >= deadline_ns) {
                throw Error(ErrorKind::toolchain,
                            std::string(what) + " within " +
                                readable_seconds(static_cast<double>(timeout_ns_) / 1e9),
                            {}, "if it only needs longer, raise the time limit");
            }
            wait_ns = wait_ns < 0 ? deadline_ns - now : std::min(wait_ns, deadline_ns - now);
        }
        const timespec wait{static_cast<time_t>(wait_ns / 1'000'000'000),
                            static_cast<long>(wait_ns % 1'000'000'000)};
        pollfd polled[2] = {{fd, events, 0}, {watch_.wake_fd, POLLIN, 0}};
        const int ready = ppoll(polled, 2, wait_ns < 0 ? nullptr : &wait, nullptr);
        if (ready < 0 && errno != EINTR) {
            broken(std::string("poll failed: ") + std::strerror(errno));
        }
        if (ready > 0 && polled[1].revents != 0) {
            if (watch_.check) {
                watch_.check();
            }
            watch_.wake_fd = -1;  // it has woken us and nothing came of it: do not spin on it
        }
        if (ready > 0 && polled[0].revents != 0) {
            return;
        }
    }
}

void FrameChannel::send(const Message& message, std::int64_t timeout_ns) {
    timeout_ns_ = timeout_ns;
    const std::int64_t deadline = deadline_after(timeout_ns);
    const std::string header = write_json_compact(message.header);
    std::uint64_t total = 0;
    for (const std::string& blob : message.blobs) {
        total += blob.size();
    }
    if (header.size() > limits_.json_bytes || message.blobs.size() > limits_.attachments ||
        total > limits_.attachment_bytes) {
        throw Error(ErrorKind::input, "a message of " + std::to_string(header.size() + total) +
                                          " bytes is too large for the runner protocol");
    }
    std::string head(magic, sizeof magic);
    put_little_endian(head, static_cast<std::uint32_t>(header.size()));
    put_little_endian(head, static_cast<std::uint32_t>(message.blobs.size()));
    for (const std::string& blob : message.blobs) {
        put_little_endian(head, std::uint64_t{blob.size()});
    }
    head += header;

    const auto write_out = [&](std::string_view bytes) {
        while (!bytes.empty()) {
            if (watch_.check && deadline >= 0 && monotonic_now() >= deadline) {
                wait_for(write_fd_, POLLOUT, deadline, "takes no request");
            }
            const ssize_t written = write(write_fd_, bytes.data(), bytes.size());
            if (written >= 0) {
                bytes.remove_prefix(static_cast<std::size_t>(written));
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                wait_for(write_fd_, POLLOUT, deadline, "takes no request");
            } else if (errno == EPIPE) {
                broken("has closed its input");
            } else if (errno != EINTR) {
                broken(std::string("cannot be written to: ") + std::strerror(errno));
            }
        }
    };
    write_out(head);
    for (const std::string& blob : message.blobs) {
        write_out(blob);
    }
}

std::size_t FrameChannel::read_some(char* target, std::size_t size_bytes,
                                    std::int64_t deadline_ns) {
    for (;;) {
        if (deadline_ns >= 0 || watch_.check) {
            wait_for(read_fd_, POLLIN, deadline_ns, "gives no answer");
        }
        const ssize_t got = read(read_fd_, target, size_bytes);
        if (got >= 0) {
            return static_cast<std::size_t>(got);
        }
        if (errno != EINTR && errno != EAGAIN) {
            broken(std::string("cannot be read from: ") + std::strerror(errno));
        }
    }
}

/// Makes `size_bytes` bytes available in the buffer; false at a clean end of input. A torn frame throws.
bool FrameChannel::fill(std::size_t size_bytes, std::int64_t deadline_ns) {
    if (taken_ > 0) {
        buffer_.erase(0, taken_);
        taken_ = 0;
    }
    while (buffer_.size() < size_bytes) {
        const std::size_t before = buffer_.size();
        buffer_.resize(before + std::max(read_ahead_bytes, std::size_t{1}));
        std::size_t got = 0;
        try {
            got = read_some(buffer_.data() + before, read_ahead_bytes, deadline_ns);
        } catch (...) {
            buffer_.resize(before);
            throw;
        }
        buffer_.resize(before + got);
        if (got == 0) {
            if (before == 0) {
                return false;
            }
            broken("its answer breaks off after " + std::to_string(before) + " bytes");
        }
    }
    return true;
}

std::string FrameChannel::take(std::uint64_t size_bytes, std::int64_t deadline_ns) {
    std::string bytes;
    const std::size_t size = static_cast<std::size_t>(size_bytes);
    bytes.reserve(std::min(size, first_block_bytes));
    const std::size_t buffered = std::min(size, buffer_.size() - taken_);
    bytes.assign(buffer_, taken_, buffered);
    taken_ += buffered;
    while (bytes.size() < size) {
        // Memory grows with what has arrived, not with what was promised.
        const std::size_t before = bytes.size();
        const std::size_t room = std::max(first_block_bytes, before);
        const std::size_t until = std::min(size, before + room);
        bytes.resize(until);
        std::size_t filled = before;
        while (filled < until) {
            const std::size_t got = read_some(bytes.data() + filled, until - filled, deadline_ns);
            if (got == 0) {
                broken("its answer breaks off: " + std::to_string(filled) + " of " +
                       std::to_string(size) + " bytes of an attachment came");
            }
            filled += got;
        }
    }
    return bytes;
}

std::optional<Message> FrameChannel::receive(std::int64_t timeout_ns) {
    timeout_ns_ = timeout_ns;
    const std::int64_t deadline = deadline_after(timeout_ns);
    // The first bytes are judged as soon as they differ from the magic: noise on the line may be shorter than a frame's
    // prefix.
    std::size_t matched = 1;
    for (; matched <= sizeof magic; ++matched) {
        if (!fill(matched, deadline)) {
            return std::nullopt;
        }
        const std::size_t present = std::min(buffer_.size(), sizeof magic);
        if (std::memcmp(buffer_.data(), magic, present) != 0) {
            broken("does not speak the runner protocol: it wrote \"" + first_bytes(buffer_) +
                   "\" where a frame begins");
        }
        matched = present;
    }
    fill(prefix_bytes, deadline);
    const std::uint64_t header_size = little_endian(buffer_.data() + 4, 4);
    const std::uint64_t count = little_endian(buffer_.data() + 8, 4);
    if (header_size > limits_.json_bytes) {
        broken("floods: it announces a header of " + std::to_string(header_size) + " bytes, " +
               std::to_string(limits_.json_bytes) + " are allowed");
    }
    if (count > limits_.attachments) {
        broken("floods: it announces " + std::to_string(count) + " attachments, " +
               std::to_string(limits_.attachments) + " are allowed");
    }
    taken_ = prefix_bytes;
    const std::string sizes = take(8 * count, deadline);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t size = little_endian(sizes.data() + 8 * i, 8);
        if (size > limits_.attachment_bytes || total + size > limits_.attachment_bytes) {
            broken("floods: it announces attachments of more than " +
                   std::to_string(limits_.attachment_bytes) + " bytes");
        }
        total += size;
    }
    const std::string header = take(header_size, deadline);
    Message message;
    try {
        JsonLimits json_limits;
        json_limits.size_bytes = static_cast<std::size_t>(limits_.json_bytes);
        json_limits.depth = header_depth;
        message.header = parse_json(header, "header", json_limits);
    } catch (const Error& error) {
        broken("breaks the runner protocol: the header of a frame is not valid JSON: " +
               error.message());
    }
    if (!message.header.is_object() || !message.header.get("type").is_string()) {
        broken("breaks the runner protocol: the header of a frame has no type");
    }
    message.blobs.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
        message.blobs.push_back(take(little_endian(sizes.data() + 8 * i, 8), deadline));
    }
    return message;
}

}  // namespace requal::toolchain
