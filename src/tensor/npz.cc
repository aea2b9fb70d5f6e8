#include <unordered_map>

#include "base/error.h"
#include "tensor/npy.h"
#include "tensor/zip.h"

namespace requal {

struct NpzReader::State {
    State(const std::string& file, std::uint64_t limit) : path(file), zip(file, limit) {}

    std::string path;
    ZipReader zip;
    std::vector<std::string> names;
    std::unordered_map<std::string, std::size_t> member_of;
};

NpzReader::NpzReader(const std::string& path, std::uint64_t member_limit_bytes)
    : state_(std::make_unique<State>(path, member_limit_bytes)) {
    constexpr std::string_view ending = ".npy";
    const auto& members = state_->zip.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
        std::string_view name = members[i].name;
        if (!name.ends_with(ending))
            continue;  // numpy gives such members as raw bytes; they are no arrays
        name.remove_suffix(ending.size());
        state_->names.emplace_back(name);
        state_->member_of.emplace(name, i);
    }
}

NpzReader::~NpzReader() = default;
NpzReader::NpzReader(NpzReader&&) noexcept = default;

const std::vector<std::string>& NpzReader::names() const {
    return state_->names;
}

bool NpzReader::has(std::string_view name) const {
    return state_->member_of.count(std::string(name)) != 0;
}

Tensor NpzReader::read(std::string_view name) const {
    auto found = state_->member_of.find(std::string(name));
    if (found == state_->member_of.end()) {
        std::string present;
        for (const std::string& each : state_->names) {
            if (present.size() > 200) {
                present += ", ...";
                break;
            }
            present += (present.empty() ? "" : ", ") + each;
        }
        throw Error(ErrorKind::input, "no array named '" + std::string(name) + "'", state_->path,
                    present.empty() ? "the file holds no arrays" : "it holds: " + present);
    }
    const ZipMember& member = state_->zip.members()[found->second];
    return tensor_over_npy(state_->zip.read(member), state_->path + ":" + member.name);
}

struct NpzWriter::State {
    explicit State(const std::string& path) : zip(path) {}
    ZipWriter zip;
};

NpzWriter::NpzWriter(const std::string& path) : state_(std::make_unique<State>(path)) {}
NpzWriter::~NpzWriter() = default;

void NpzWriter::add(std::string_view name, const Tensor& tensor) {
    std::string member = std::string(name) + ".npy";
    if (tensor.type() == ElementType::string)
        state_->zip.add(member, write_npy(tensor), {});
    else
        state_->zip.add(member, npy_header(tensor.type(), tensor.shape()), tensor.bytes());
}

void NpzWriter::commit() {
    state_->zip.commit();
}

NamedTensors read_npz_file(const std::string& path) {
    NpzReader reader(path);
    NamedTensors tensors;
    tensors.reserve(reader.names().size());
    for (const std::string& name : reader.names())
        tensors.emplace_back(name, reader.read(name));
    return tensors;
}

void write_npz_file(const std::string& path, const NamedTensors& tensors) {
    NpzWriter writer(path);
    for (const auto& [name, tensor] : tensors)
        writer.add(name, tensor);
    writer.commit();
}

}  // namespace requal
