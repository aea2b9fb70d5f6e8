// The wire of the runner protocol: frames of one JSON document and any number of binary attachments.
// Documented in docs/runner-protocol.md; linked into the client and into every runner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/tensor.h"

namespace requal::toolchain {

/// Version of the protocol; a runner that speaks another one is refused by name.
inline constexpr int protocol_version = 1;

/// Limits on what a peer may send before it is taken for broken.
struct FrameLimits {
    std::uint64_t json_bytes = std::uint64_t{64} << 20;
    std::uint64_t attachment_bytes = std::uint64_t{1}
                                     << 36;  ///< of all attachments of a frame together
    std::uint32_t attachments = 65536;
};

/// A message: JSON header (with "type" and "id") and attachments (npy tensors or raw bytes).
struct Message {
    Json header;
    std::vector<std::string>
        blobs;  ///< raw attachments; tensors travel as npy bytes named in header.tensors[]
};

/// What is looked after while a channel waits for its peer.
struct Watch {
    std::function<void()> check;  ///< called about every `interval_ns` of waiting; may throw
    std::int64_t interval_ns = 50'000'000;
    int wake_fd = -1;  ///< `check` is called at once when this becomes readable
};

/// A region shared by client and local runner (memfd, inherited as a descriptor). Tensors in it are named by offset and
/// size in header.tensors[] instead of travelling as attachments.
class SharedRegion {
public:
    static std::shared_ptr<SharedRegion>
    create(std::uint64_t size_bytes);  ///< grows on demand through grow()
    static std::shared_ptr<SharedRegion> attach(int fd);
    ~SharedRegion();
    int fd() const;
    std::span<std::byte> bytes();
    void grow(std::uint64_t
                  size_bytes);  ///< the other side sees the new size with refresh(); never shrinks
    void refresh();
    /// Keeps the present mapping alive: tensors in the region hold it, so that growing cannot pull it from under them.
    std::shared_ptr<const void> keeper() const;

private:
    SharedRegion();
    struct State;
    std::unique_ptr<State> state_;
};

/// Reads and writes frames on two descriptors. Reading has a deadline; a flood past the limits, a wrong magic or a
/// torn frame is Error(toolchain).
class FrameChannel {
public:
    /// The descriptors stay the caller's. With a `watch` the write end is made non-blocking.
    FrameChannel(int read_fd, int write_fd, FrameLimits limits = {}, Watch watch = {});
    /// Error(toolchain) when the peer has closed or does not read for `timeout_ns` (< 0: for ever).
    void send(const Message& message, std::int64_t timeout_ns = -1);
    /// Empty when the peer closed between frames. `timeout_ns` < 0: for ever. Timeout is Error(toolchain) "no answer".
    std::optional<Message> receive(std::int64_t timeout_ns = -1);

private:
    void wait_for(int fd, short events, std::int64_t deadline_ns, const char* what);
    std::size_t read_some(char* target, std::size_t size_bytes, std::int64_t deadline_ns);
    bool fill(std::size_t size_bytes, std::int64_t deadline_ns);
    std::string take(std::uint64_t size_bytes, std::int64_t deadline_ns);
    int read_fd_;
    int write_fd_;
    FrameLimits limits_;
    Watch watch_;
    std::int64_t checked_ns_ = 0;
    std::int64_t timeout_ns_ = -1;  ///< of the call under way, for messages
    std::string buffer_;            ///< bytes read and not yet taken
    std::size_t taken_ = 0;
};

/// Puts tensors into a message (through `region` when given; once a message) and takes them out again. Tensors taken out of
/// a region borrow it: they are valid until the sender writes into it again. What does not fit is Error(toolchain).
void attach_tensors(Message& message, const NamedTensors& tensors, SharedRegion* region);
NamedTensors detach_tensors(const Message& message, const std::shared_ptr<SharedRegion>& region);

}  // namespace requal::toolchain
