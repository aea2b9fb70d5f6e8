// PyTorch checkpoints and TorchScript archives. Both are zip archives below one folder with `data.pkl`; TorchScript also has
// `constants.pkl` and `code/`. Layout: torch/serialization.py and caffe2/serialize/inline_container.h of pytorch/pytorch.
// The older form is a row of pickles that begins with a magic number (torch/serialization.py, MAGIC_NUMBER, PROTOCOL_VERSION).
// Pickles are programs: nothing here looks into one.
#include <algorithm>

#include "artifact/recognise.h"
#include "artifact/zip_directory.h"
#include "base/text.h"

namespace requal::artifact {

namespace {

constexpr std::size_t list_limit = 100;

// A small text member: its content without the final line end; empty when it is not stored or is no plain text.
std::string text_of(const ByteSource& source, const ZipMember& member) {
    std::string text = read_stored_head(source, member, 64);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\0'))
        text.pop_back();
    return printable(text);
}

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

struct Archive {
    const ZipMember* pickle = nullptr;
    bool constants = false;
    std::uint64_t code_files = 0, storages = 0, storage_bytes = 0;
    Json extra = Json::array();
    std::string version, format_version, byte_order;
};

std::optional<Recognised> recognise_archive(const ByteSource& source) {
    const auto directory = read_zip_directory(source);
    if (!directory || directory->members.empty() || !directory->problem.empty())
        return std::nullopt;
    const std::string& first = directory->members.front().name;
    const std::size_t slash = first.find('/');
    if (slash == std::string::npos)
        return std::nullopt;
    const std::string folder = first.substr(0, slash + 1);
    Archive archive;
    bool export_archive = false;
    for (const ZipMember& member : directory->members) {
        if (!starts_with(member.name, folder))
            return std::nullopt;
        const std::string_view name = std::string_view(member.name).substr(folder.size());
        if (name == "data.pkl")
            archive.pickle = &member;
        else if (name == "constants.pkl")
            archive.constants = true;
        else if (name == "version")
            archive.version = text_of(source, member);
        else if (name == ".format_version")
            archive.format_version = text_of(source, member);
        else if (name == "byteorder")
            archive.byte_order = text_of(source, member);
        else if (name == "archive_format")
            export_archive = true;
        else if (starts_with(name, "code/"))
            archive.code_files += name.substr(name.size() - 1) != "/" ? 1 : 0;
        else if (starts_with(name, "extra/") && archive.extra.size() < list_limit)
            archive.extra.push_back(printable(name.substr(6)));
        if (starts_with(name, "data/")) {
            ++archive.storages;
            archive.storage_bytes +=
                std::min(member.size_bytes, UINT64_MAX / 2 - archive.storage_bytes);
        }
    }
    Recognised result;
    if (archive.pickle == nullptr) {
        if (!export_archive)
            return std::nullopt;
        result.oddities.push_back("a PyTorch export archive (pt2): not among the kinds");
        return result;
    }
    const bool script = archive.constants || archive.code_files > 0;
    result.kind = script ? "torchscript" : "torch-checkpoint";
    Json& recorded = result.recorded;
    recorded["container"] = "zip";
    recorded["archive"] = printable(std::string_view(folder).substr(0, slash));
    recorded["pickle_bytes"] = archive.pickle->size_bytes;
    recorded["storages"] = archive.storages;
    recorded["storage_bytes"] = archive.storage_bytes;
    for (const auto& [key, value] : {std::pair{"archive_version", &archive.version},
                                     {"format_version", &archive.format_version},
                                     {"byte_order", &archive.byte_order}})
        if (!value->empty())
            recorded[key] = *value;
    if (script)
        recorded["code_files"] = archive.code_files;
    if (archive.extra.size() > 0)
        recorded["extra_files"] = archive.extra;
    if (directory->total > directory->members.size())
        result.oddities.push_back("only the first " + std::to_string(directory->members.size()) +
                                  " members were looked at");
    result.unknown = script ? std::vector<std::string>{"runtime_version", "inputs", "outputs",
                                                       "precision", "source_model"}
                            : std::vector<std::string>{"framework_version", "tensors", "precision",
                                                       "architecture"};
    return result;
}

std::optional<Recognised> recognise_old_checkpoint(const ByteSource& source) {
    // PROTO 2, LONG1 of 10 bytes: 0x1950a86a20f9469cfc6c, STOP; PROTO 2, BININT2 1001, STOP
    constexpr std::string_view magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    constexpr std::string_view protocol = "\x80\x02M\xe9\x03.";
    if (source.view(0, magic.size()) != magic)
        return std::nullopt;
    Recognised result;
    result.kind = "torch-checkpoint";
    result.recorded["container"] = "pickles";
    if (source.view(magic.size(), protocol.size()) == protocol)
        result.recorded["protocol_version"] = 1001;
    else
        result.unknown.push_back("protocol_version");
    result.unknown.insert(result.unknown.end(),
                          {"framework_version", "tensors", "precision", "architecture"});
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_torch() {
    return {{"torch", recognise_archive}, {"torch-old", recognise_old_checkpoint}};
}

}  // namespace requal::artifact
