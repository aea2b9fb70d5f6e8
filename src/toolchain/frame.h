// The wire of the runner protocol: frames of one JSON document and any number of binary attachments.
// Documented in docs/runner-protocol.md; linked into the client and into every runner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
    std::uint64_t attachment_bytes = std::uint64_t{1} << 36;
    std::uint32_t attachments = 65536;
};

/// A message: JSON header (with "type" and "id") and attachments (npy tensors or raw bytes).
struct Message {
    Json header;
    std::vector<std::string> blobs;  ///< raw attachments; tensors travel as npy bytes named in header.tensors[]
};

/// A region shared by client and local runner (memfd, inherited as a descriptor). Tensors in it are named by offset and
/// size in header.tensors[] instead of travelling as attachments.
class SharedRegion {
public:
    static std::shared_ptr<SharedRegion> create(std::uint64_t size_bytes);  ///< grows on demand through grow()
    static std::shared_ptr<SharedRegion> attach(int fd);
    ~SharedRegion();
    int fd() const;
    std::span<std::byte> bytes();
    void grow(std::uint64_t size_bytes);  ///< the other side sees the new size with refresh()
    void refresh();

private:
    SharedRegion();
    struct State;
    std::unique_ptr<State> state_;
};

/// Reads and writes frames on two descriptors. Reading has a deadline; a flood past the limits, a wrong magic or a
/// torn frame is Error(toolchain).
class FrameChannel {
public:
    FrameChannel(int read_fd, int write_fd, FrameLimits limits = {});
    void send(const Message& message);
    /// Empty when the peer closed between frames. `timeout_ns` < 0: for ever. Timeout is Error(toolchain) "no answer".
    std::optional<Message> receive(std::int64_t timeout_ns = -1);

private:
    int read_fd_;
    int write_fd_;
    FrameLimits limits_;
};

/// Puts tensors into a message (through `region` when given) and takes them out again.
void attach_tensors(Message& message, const NamedTensors& tensors, SharedRegion* region);
NamedTensors detach_tensors(const Message& message, const std::shared_ptr<SharedRegion>& region);

}  // namespace requal::toolchain
