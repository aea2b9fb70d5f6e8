// Memory that client and local runner share: a memfd that may grow and never shrinks.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "toolchain/frame.h"

namespace requal::toolchain {

namespace {

constexpr std::uint64_t growth_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t region_limit_bytes = std::uint64_t{1} << 36;

struct Mapping {
    std::byte* data = nullptr;
    std::size_t size = 0;
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (data != nullptr) {
            munmap(data, size);
        }
    }
};

[[noreturn]] void failed(const char* operation, int error_number) {
    throw Error(ErrorKind::storage,
                std::string("shared memory for tensors: ") + operation +
                    " failed: " + std::strerror(error_number),
                {}, "free memory or use smaller inputs");
}

}  // namespace

struct SharedRegion::State {
    FileDescriptor fd;
    std::shared_ptr<Mapping> mapping = std::make_shared<Mapping>();
};

SharedRegion::SharedRegion() : state_(std::make_unique<State>()) {}
SharedRegion::~SharedRegion() = default;

std::shared_ptr<SharedRegion> SharedRegion::create(std::uint64_t size_bytes) {
    std::shared_ptr<SharedRegion> region(new SharedRegion);
    region->state_->fd.reset(memfd_create("requal-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!region->state_->fd) {
        failed("memfd_create", errno);
    }
    // A peer that could shrink the region could kill this process with SIGBUS.
    if (fcntl(region->fd(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        failed("sealing", errno);
    }
    region->grow(size_bytes);
    return region;
}

std::shared_ptr<SharedRegion> SharedRegion::attach(int fd) {
    std::shared_ptr<SharedRegion> region(new SharedRegion);
    region->state_->fd.reset(fcntl(fd, F_DUPFD_CLOEXEC, 10));
    if (!region->state_->fd) {
        failed("attaching to the inherited descriptor", errno);
    }
    region->refresh();
    return region;
}

int SharedRegion::fd() const {
    return state_->fd.get();
}

std::span<std::byte> SharedRegion::bytes() {
    return {state_->mapping->data, state_->mapping->size};
}

void SharedRegion::grow(std::uint64_t size_bytes) {
    const std::uint64_t present = state_->mapping->size;
    if (size_bytes <= present) {
        return;
    }
    if (size_bytes > region_limit_bytes) {
        throw Error(ErrorKind::input,
                    "tensors of " + std::to_string(size_bytes) +
                        " bytes are too large for one call",
                    {}, "use smaller inputs");
    }
    const std::uint64_t wanted = (size_bytes + growth_bytes - 1) / growth_bytes * growth_bytes;
    // Allocated now: a sparse region would end in SIGBUS when memory runs out.
    int result = EINTR;
    while (result == EINTR) {
        result = posix_fallocate(fd(), static_cast<off_t>(present),
                                 static_cast<off_t>(wanted - present));
    }
    if (result != 0) {
        failed("growing it", result);
    }
    refresh();
}

void SharedRegion::refresh() {
    struct stat status {};
    if (fstat(fd(), &status) != 0) {
        failed("fstat", errno);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size == state_->mapping->size) {
        return;
    }
    if (size > region_limit_bytes) {
        throw Error(ErrorKind::toolchain,
                    "floods: it grew the shared memory to " + std::to_string(size) + " bytes");
    }
    auto mapping = std::make_shared<Mapping>();
    void* address =
        mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd(), 0);
    if (address == MAP_FAILED) {
        failed("mmap", errno);
    }
    mapping->data = static_cast<std::byte*>(address);
    mapping->size = static_cast<std::size_t>(size);
    state_->mapping = std::move(mapping);
}

std::shared_ptr<const void> SharedRegion::keeper() const {
    return state_->mapping;
}

}  // namespace requal::toolchain
