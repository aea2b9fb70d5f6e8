// Tensors in messages: raw in shared memory, or as npy attachments.
#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "tensor/npy.h"
#include "toolchain/frame.h"

namespace requal::toolchain {

namespace {

constexpr std::uint64_t alignment = 64;
constexpr std::size_t dimensions_limit = 64;

std::uint64_t aligned(std::uint64_t offset) {
    return (offset + alignment - 1) / alignment * alignment;
}

[[noreturn]] void broken(const std::string& name, const std::string& message) {
    throw Error(ErrorKind::toolchain,
                "breaks the runner protocol: tensor " + name + ": " + message);
}

Json shape_json(const Shape& shape) {
    Json list = Json::array();
    for (const std::int64_t dimension : shape) {
        list.push_back(dimension);
    }
    return list;
}

/// The bytes of all strings one after the other.
std::string joined(const std::vector<std::string>& strings) {
    std::size_t total = 0;
    for (const std::string& text : strings) {
        total += text.size();
    }
    std::string all;
    all.reserve(total);
    for (const std::string& text : strings) {
        all += text;
    }
    return all;
}

Tensor split(const std::string& name, const Json& entry, const Shape& shape,
             std::span<const std::byte> bytes) {
    const Json& lengths = entry.get("lengths");
    const std::uint64_t count = element_count(shape);
    if (!lengths.is_array() || lengths.size() != count) {
        broken(name,
               "lengths must name the bytes of each of its " + std::to_string(count) + " strings");
    }
    Tensor tensor(ElementType::string, shape);
    tensor.strings().resize(static_cast<std::size_t>(count));
    std::uint64_t offset = 0;
    std::size_t index = 0;
    for (const Json& item : lengths.as_array()) {
        const std::int64_t length = item.as_integer();
        if (length < 0 || static_cast<std::uint64_t>(length) > bytes.size() - offset) {
            broken(name, "its strings are longer than its bytes");
        }
        tensor.strings()[index++].assign(reinterpret_cast<const char*>(bytes.data()) + offset,
                                         static_cast<std::size_t>(length));
        offset += static_cast<std::uint64_t>(length);
    }
    if (offset != bytes.size()) {
        broken(name, "its strings are shorter than its bytes");
    }
    return tensor;
}

Tensor from_attachment(const std::string& name, const Json& entry, ElementType type,
                       const Shape& shape, const Message& message) {
    const std::int64_t index = entry.at("blob").as_integer();
    if (index < 0 || static_cast<std::uint64_t>(index) >= message.blobs.size()) {
        broken(name, "there is no attachment " + std::to_string(index));
    }
    const std::string& blob = message.blobs[static_cast<std::size_t>(index)];
    Tensor tensor = read_npy(std::as_bytes(std::span(blob)), "attachment of tensor " + name);
    if (type == ElementType::string) {
        if (tensor.type() != ElementType::uint8 || tensor.shape().size() != 1) {
            broken(name, "strings must travel as one row of uint8");
        }
        return split(name, entry, shape, tensor.bytes());
    }
    // numpy has no bfloat16: its bits travel as uint16.
    const ElementType travels = type == ElementType::bfloat16 ? ElementType::uint16 : type;
    if (tensor.type() != travels || tensor.shape() != shape) {
        broken(name, "its attachment is " + std::string(name_of(tensor.type())) + " " +
                         text_of(tensor.shape()) + ", announced was " + std::string(name_of(type)) +
                         " " + text_of(shape));
    }
    if (type != ElementType::bfloat16) {
        return tensor;
    }
    auto owner = std::make_shared<Tensor>(std::move(tensor));
    return Tensor(type, shape, owner->bytes(), owner);
}

Tensor from_region(const std::string& name, const Json& entry, ElementType type, const Shape& shape,
                   const std::shared_ptr<SharedRegion>& region) {
    if (!region) {
        broken(name, "it is said to be in shared memory and there is none");
    }
    const std::int64_t offset = entry.at("offset").as_integer();
    const std::int64_t size = entry.at("size_bytes").as_integer();
    const std::span<const std::byte> bytes = region->bytes();
    if (offset < 0 || size < 0 || static_cast<std::uint64_t>(offset) % alignment != 0 ||
        static_cast<std::uint64_t>(offset) > bytes.size() ||
        static_cast<std::uint64_t>(size) > bytes.size() - static_cast<std::uint64_t>(offset)) {
        broken(name, "it is not inside the shared memory");
    }
    const auto part =
        bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    if (type == ElementType::string) {
        return split(name, entry, shape, part);
    }
    if (part.size() != element_count(shape) * size_of(type)) {
        broken(name, "its size in shared memory is not that of " + text_of(shape));
    }
    return Tensor(type, shape, part, region->keeper());
}

Tensor detach_one(const std::string& name, const Json& entry, const Message& message,
                  const std::shared_ptr<SharedRegion>& region) {
    const ElementType type = parse_element_type(entry.at("type").as_string());
    Shape shape;
    const auto& dimensions = entry.at("shape").as_array();
    if (dimensions.size() > dimensions_limit) {
        broken(name, "it has " + std::to_string(dimensions.size()) + " dimensions");
    }
    for (const Json& dimension : dimensions) {
        shape.push_back(dimension.as_integer());
    }
    (void)element_count(shape);
    return entry.has("blob") ? from_attachment(name, entry, type, shape, message)
                             : from_region(name, entry, type, shape, region);
}

}  // namespace

void attach_tensors(Message& message, const NamedTensors& tensors, SharedRegion* region) {
    Json list = Json::array();
    std::vector<std::string> texts(tensors.size());
    std::vector<std::span<const std::byte>> parts(tensors.size());
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& tensor = tensors[i].second;
        if (tensor.type() == ElementType::string) {
            texts[i] = joined(tensor.strings());
            parts[i] = std::as_bytes(std::span(texts[i]));
        } else {
            parts[i] = tensor.bytes();
        }
        total = aligned(total) + parts[i].size();
    }
    if (region != nullptr) {
        region->refresh();
        region->grow(total);
    }
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const auto& [name, tensor] = tensors[i];
        Json entry = Json::object({{"name", name},
                                   {"type", name_of(tensor.type())},
                                   {"shape", shape_json(tensor.shape())}});
        if (tensor.type() == ElementType::string) {
            Json lengths = Json::array();
            for (const std::string& text : tensor.strings()) {
                lengths.push_back(std::uint64_t{text.size()});
            }
            entry["lengths"] = std::move(lengths);
        }
        if (region != nullptr) {
            offset = aligned(offset);
            if (!parts[i].empty()) {
                std::memcpy(region->bytes().data() + offset, parts[i].data(), parts[i].size());
            }
            entry["offset"] = offset;
            entry["size_bytes"] = std::uint64_t{parts[i].size()};
            offset += parts[i].size();
        } else {
            ElementType travels = tensor.type();
            Shape shape = tensor.shape();
            if (travels == ElementType::bfloat16) {
                travels = ElementType::uint16;
            } else if (travels == ElementType::string) {
                travels = ElementType::uint8;
                shape = {static_cast<std::int64_t>(parts[i].size())};
            }
            std::string blob = npy_header(travels, shape);
            blob.append(reinterpret_cast<const char*>(parts[i].data()), parts[i].size());
            entry["blob"] = std::uint64_t{message.blobs.size()};
            message.blobs.push_back(std::move(blob));
        }
        list.push_back(std::move(entry));
    }
    message.header["tensors"] = std::move(list);
}

NamedTensors detach_tensors(const Message& message, const std::shared_ptr<SharedRegion>& region) {
    NamedTensors tensors;
    const Json& list = message.header.get("tensors");
    if (list.is_null()) {
        return tensors;
    }
    if (!list.is_array()) {
        broken("list", "it is not a list");
    }
    if (region) {
        region->refresh();
    }
    std::set<std::string, std::less<>> seen;
    for (const Json& entry : list.as_array()) {
        std::string name = "without a name";
        try {
            name = entry.at("name").as_string();
            if (!seen.insert(name).second) {
                broken(name, "it comes twice");
            }
            tensors.emplace_back(name, detach_one(name, entry, message, region));
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::toolchain) {
                throw;
            }
            broken(name, error.message());
        }
    }
    return tensors;
}

}  // namespace requal::toolchain
