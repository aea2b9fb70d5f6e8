#include "measure/numerics/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace requal::measure {

namespace {

constexpr std::size_t head_bytes = std::size_t{1} << 16U;

FileDescriptor open_unlinked(const std::string& folder) {
    FileDescriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (file) {
        return file;
    }
    // Not every file system can make a file without a name.
    std::string name = folder + "/requal-spool-XXXXXX";
    file.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (!file) {
        throw Error(ErrorKind::storage,
                    std::string("cannot make a temporary file: ") + std::strerror(errno), folder,
                    "set TMPDIR to a folder that can be written");
    }
    ::unlink(name.c_str());
    return file;
}

}  // namespace

Spool::Spool() {
    const char* folder = std::getenv("TMPDIR");
    folder_ = folder != nullptr && *folder != '\0' ? folder : "/tmp";
    file_ = open_unlinked(folder_);
    head_.resize(head_bytes);
}

void Spool::flush() {
    if (head_used_ > 0) {
        write_all(file_.get(), std::span<const std::byte>(head_.data(), head_used_), folder_);
        head_used_ = 0;
    }
}

void Spool::put(const void* bytes, std::size_t size) {
    if (head_used_ + size > head_.size()) {
        flush();
    }
    if (size > head_.size()) {
        write_all(file_.get(),
                  std::span<const std::byte>(static_cast<const std::byte*>(bytes), size), folder_);
        return;
    }
    if (size > 0) {  // an empty tensor has no bytes to point at
        std::memcpy(head_.data() + head_used_, bytes, size);
    }
    head_used_ += size;
}

void Spool::write(const NamedTensors& tensors) {
    const auto put_number = [this](std::uint64_t value) { put(&value, sizeof(value)); };
    const auto put_text = [&](const std::string& text) {
        put_number(text.size());
        put(text.data(), text.size());
    };
    std::uint64_t total = 0;
    for (const auto& item : tensors) {
        total += item.second.bytes().size();
    }
    put_number(tensors.size());
    put_number(total);
    for (const auto& [name, tensor] : tensors) {
        put_text(name);
        put_number(static_cast<std::uint64_t>(tensor.type()));
        put_number(tensor.shape().size());
        for (const std::int64_t extent : tensor.shape()) {
            put_number(static_cast<std::uint64_t>(extent));
        }
        if (tensor.type() == ElementType::string) {
            for (const std::string& text : tensor.strings()) {
                put_text(text);
            }
        } else {
            put(tensor.bytes().data(), tensor.bytes().size());
        }
    }
}

void Spool::rewind() {
    flush();
    if (::lseek(file_.get(), 0, SEEK_SET) != 0) {
        throw_errno(errno, "rewind the temporary file in", folder_);
    }
}

void Spool::take(void* target, std::size_t size) {
    auto* out = static_cast<std::byte*>(target);
    while (size > 0) {
        const ssize_t got = ::read(file_.get(), out, size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw_errno(errno, "read the temporary file in", folder_);
        }
        if (got == 0) {
            throw Error(ErrorKind::internal, "the temporary file ends early", folder_);
        }
        out += got;
        size -= static_cast<std::size_t>(got);
    }
}

std::uint64_t Spool::take_number() {
    std::uint64_t value = 0;
    take(&value, sizeof(value));
    return value;
}

std::string Spool::take_text() {
    std::string text(take_number(), '\0');
    take(text.data(), text.size());
    return text;
}

NamedTensors Spool::read() {
    const std::uint64_t count = take_number();
    sample_.resize(take_number());
    std::size_t used = 0;
    NamedTensors tensors;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::string name = take_text();
        const auto type = static_cast<ElementType>(take_number());
        Shape shape(take_number());
        for (std::int64_t& extent : shape) {
            extent = static_cast<std::int64_t>(take_number());
        }
        if (type == ElementType::string) {
            Tensor tensor(type, shape);
            for (std::string& text : tensor.strings()) {
                text = take_text();
            }
            tensors.emplace_back(std::move(name), std::move(tensor));
            continue;
        }
        const std::size_t size = element_count(shape) * size_of(type);
        const std::span<std::byte> bytes(sample_.data() + used, size);
        take(bytes.data(), size);
        used += size;
        tensors.emplace_back(std::move(name), Tensor(type, std::move(shape), bytes, nullptr));
    }
    return tensors;
}

}  // namespace requal::measure
