#include "tensor/tensor.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace requal {
namespace {

std::shared_ptr<std::byte> zeroed(std::uint64_t size_bytes) {
    // calloc: pages of a large tensor are not touched before they are used.
    void* memory = std::calloc(size_bytes == 0 ? 1 : size_bytes, 1);
    if (memory == nullptr)
        throw Error(ErrorKind::input,
                    "no memory for a tensor of " + std::to_string(size_bytes) + " bytes", {},
                    "use smaller shapes or a machine with more memory");
    return {static_cast<std::byte*>(memory), [](std::byte* bytes) { std::free(bytes); }};
}

std::size_t alignment_of(ElementType type) {
    switch (type) {
    case ElementType::complex64:
        return 4;
    case ElementType::complex128:
        return 8;
    default:
        return size_of(type);
    }
}

}  // namespace

std::string text_of(const Shape& shape) {
    if (shape.empty())
        return "scalar";
    std::string text;
    for (std::int64_t dimension : shape) {
        if (!text.empty())
            text += 'x';
        text += dimension < 0 ? "?" : std::to_string(dimension);
    }
    return text;
}

Shape parse_shape(std::string_view text) {
    Shape shape;
    if (text == "scalar")
        return shape;
    auto refuse = [&]() -> Error {
        return {ErrorKind::input,
                "'" + std::string(text) + "' is no shape",
                {},
                "write dimensions joined by x, as in 1x3x320x320, or scalar"};
    };
    const char* position = text.data();
    const char* end = position + text.size();
    while (true) {
        std::int64_t dimension = 0;
        if (position == end || *position < '0' || *position > '9')
            throw refuse();
        auto [after, error] = std::from_chars(position, end, dimension);
        if (error != std::errc())
            throw refuse();
        shape.push_back(dimension);
        if (after == end)
            break;
        if (*after != 'x')
            throw refuse();
        position = after + 1;
    }
    element_count(shape);
    return shape;
}

std::uint64_t element_count(const Shape& shape) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 58;  // times 16 bytes is 2^62
    bool empty = false;
    for (std::int64_t dimension : shape) {
        if (dimension < 0)
            throw Error(ErrorKind::input, "shape " + text_of(shape) + " has a negative dimension");
        empty = empty || dimension == 0;
    }
    if (empty)
        return 0;
    std::uint64_t count = 1;
    for (std::int64_t dimension : shape) {
        if (static_cast<std::uint64_t>(dimension) > limit / count)
            throw Error(ErrorKind::input,
                        "shape " + text_of(shape) + " has more elements than memory can hold");
        count *= static_cast<std::uint64_t>(dimension);
    }
    return count;
}

Tensor::Tensor(ElementType type, Shape shape, std::uint64_t limit_bytes)
    : type_(type), shape_(std::move(shape)), count_(element_count(shape_)) {
    std::size_t element_bytes = type_ == ElementType::string ? sizeof(std::string) : size_of(type_);
    if (count_ > limit_bytes / element_bytes)
        throw Error(ErrorKind::input,
                    "a tensor " + std::string(name_of(type_)) + " " + text_of(shape_) + " needs " +
                        std::to_string(count_ * element_bytes) + " bytes, more than the limit of " +
                        std::to_string(limit_bytes));
    if (type_ == ElementType::string) {
        strings_.resize(count_);
        return;
    }
    auto memory = zeroed(count_ * element_bytes);
    bytes_ = {memory.get(), count_ * element_bytes};
    owner_ = std::move(memory);
    writable_ = true;
}

Tensor::Tensor(ElementType type, Shape shape, std::span<const std::byte> bytes,
               std::shared_ptr<const void> owner)
    : type_(type), shape_(std::move(shape)), count_(element_count(shape_)) {
    if (type_ == ElementType::string)
        throw Error(ErrorKind::internal, "a string tensor cannot be made over bytes");
    if (bytes.size() != count_ * size_of(type_))
        throw Error(ErrorKind::input, std::to_string(bytes.size()) + " bytes for a tensor " +
                                          std::string(name_of(type_)) + " " + text_of(shape_) +
                                          " that has " + std::to_string(count_ * size_of(type_)));
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment_of(type_) == 0) {
        bytes_ = bytes;
        owner_ = std::move(owner);
        return;
    }
    auto memory = zeroed(bytes.size());
    std::memcpy(memory.get(), bytes.data(), bytes.size());
    bytes_ = {memory.get(), bytes.size()};
    owner_ = std::move(memory);
    writable_ = true;
}

std::span<std::byte> Tensor::mutable_bytes() {
    if (!writable_ || owner_.use_count() != 1) {
        auto memory = zeroed(bytes_.size());
        if (!bytes_.empty())
            std::memcpy(memory.get(), bytes_.data(), bytes_.size());
        bytes_ = {memory.get(), bytes_.size()};
        owner_ = std::move(memory);
        writable_ = true;
    }
    return {const_cast<std::byte*>(bytes_.data()), bytes_.size()};
}

const Tensor* find_tensor(const NamedTensors& tensors, std::string_view name) {
    for (const auto& [key, tensor] : tensors) {
        if (key == name)
            return &tensor;
    }
    return nullptr;
}

}  // namespace requal
