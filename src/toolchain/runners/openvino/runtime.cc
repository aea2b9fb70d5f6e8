#include "toolchain/runners/openvino/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <ostream>
#include <streambuf>

#include "base/error.h"
#include "toolchain/runners/openvino/engine_file.h"
#include "toolchain/runners/openvino/failure.h"
#include "toolchain/runners/openvino/session.h"
#include "toolchain/runners/support/process_facts.h"
#include "toolchain/runners/support/proof_model.h"

namespace requal::toolchain::openvino {
namespace {

constexpr std::array<std::string_view, 3> library_parts = {"openvino", "libtbb", "OpenCL"};

/// Streams what export_model() writes into an AtomicFile, so that a blob never lies in memory twice.
class FileBuffer final : public std::streambuf {
public:
    explicit FileBuffer(AtomicFile& file) : file_(file) {
        setp(buffer_.data(), buffer_.data() + buffer_.size());
    }

    /// Size of what was written. Leaves the file's position at its end.
    std::uint64_t finish() {
        flush();
        seek(end_);
        return end_;
    }

private:
    int_type overflow(int_type letter) override {
        flush();
        if (!traits_type::eq_int_type(letter, traits_type::eof()))
            sputc(traits_type::to_char_type(letter));
        return traits_type::not_eof(letter);
    }

    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
        flush();
        write(std::string_view(bytes, static_cast<std::size_t>(count)));
        return count;
    }

    int sync() override {
        flush();
        return 0;
    }

    // the format keeps a place for the sizes of its parts, and goes back to fill it
    pos_type seekoff(off_type offset, std::ios_base::seekdir direction,
                     std::ios_base::openmode mode) override {
        const auto here = static_cast<off_type>(position_) + (pptr() - pbase());
        if (direction == std::ios_base::cur && offset == 0)
            return pos_type(here);
        const off_type base = direction == std::ios_base::beg   ? 0
                              : direction == std::ios_base::cur ? here
                                                                : static_cast<off_type>(end_);
        return seekpos(pos_type(base + offset), mode);
    }

    pos_type seekpos(pos_type position, std::ios_base::openmode) override {
        const auto target = static_cast<off_type>(position);
        flush();
        if (target < 0 || static_cast<std::uint64_t>(target) > end_)
            return pos_type(off_type(-1));
        seek(static_cast<std::uint64_t>(target));
        return position;
    }

    void seek(std::uint64_t position) {
        if (lseek(file_.fd(), static_cast<off_t>(position), SEEK_SET) < 0)
            throw_errno(errno, "seek in", file_.temporary_path());
        position_ = position;
    }

    void write(std::string_view bytes) {
        file_.write(bytes);
        position_ += bytes.size();
        end_ = std::max(end_, position_);
    }

    void flush() {
        const auto count = static_cast<std::size_t>(pptr() - pbase());
        if (count == 0)
            return;
        write(std::string_view(pbase(), count));
        setp(buffer_.data(), buffer_.data() + buffer_.size());
    }

    AtomicFile& file_;
    std::uint64_t position_ = 0;
    std::uint64_t end_ = 0;
    std::array<char, 65536> buffer_{};
};

Json proved(std::string_view toolchain) {
    Json result = Json::object({{"name", toolchain}, {"can", Json::array({"build", "run"})}});
    try {
        if (toolchain == "openvino:gpu" && !std::filesystem::exists("/dev/dri"))
            throw Error(ErrorKind::missing, "there is no graphics device (/dev/dri)");
        auto settings = read_settings(Json::object(), toolchain);
        settings.threads = 1;
        settings.precision = "f32";  // the proof is exact
        OpenVinoSession session("proof model",
                                compile("proof model", proof_model_bytes(), settings), settings);
        check_proof_outputs(session.run(proof_inputs()));
        result["works"] = true;
        result["proof"] = "ran";
    } catch (const Error& error) {
        result["works"] = false;
        result["why_not"] = error.message();
    }
    return result;
}

}  // namespace

Json OpenVino::capabilities() {
    return Json::object(
        {{"name", "openvino"},
         {"version", library_version()},
         {"toolchains", Json::array({proved("openvino:cpu"), proved("openvino:gpu")})},
         {"libraries", mapped_libraries(library_parts)},
         {"options", describe_options(known_options())}});
}

std::unique_ptr<Session> OpenVino::load(const std::string& path, const std::string& toolchain,
                                        const Json& options) {
    auto settings = read_settings(options, toolchain);
    if (kind_of(path) == FileKind::model)
        return std::make_unique<OpenVinoSession>(path, compile(path, {}, settings), settings);
    auto file = std::make_shared<MappedFile>(path);
    const auto bytes = file->bytes();
    const auto recorded =
        recorded_settings({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    settings = with_recorded(std::move(settings), recorded, path);
    return std::make_unique<OpenVinoSession>(path, import_blob(path, std::move(file), settings),
                                             settings);
}

Json OpenVino::build(const std::string& model_path, const std::string& output_path,
                     const std::string& toolchain, const Json& options) {
    const auto settings = read_settings(options, toolchain);
    if (kind_of(model_path) == FileKind::blob)
        throw Error(ErrorKind::input, "is an engine already", model_path, "give the model");
    auto compiled = compile(model_path, {}, settings);
    AtomicFile file(output_path);
    {
        FileBuffer buffer(file);
        std::ostream stream(&buffer);
        stream.exceptions(std::ios::badbit | std::ios::failbit);
        try {
            compiled.model.export_model(stream);
            stream.flush();
        } catch (const Error&) {
            throw;
        } catch (const std::exception& exception) {
            throw_clean(exception, ErrorKind::toolchain, model_path);
        }
        if (buffer.finish() == 0)
            throw Error(ErrorKind::toolchain, "OpenVINO exported nothing", model_path);
    }
    file.write(settings_line(import_settings(settings)));
    // the engine is what an import gives, so its precision is read back from one
    const auto imported = import_blob(
        file.temporary_path(), std::make_shared<MappedFile>(file.temporary_path()), settings);
    Json facts = Json::object({{"files", Json::array({Json(output_path)})},
                               {"precision", precision_of(imported.model, settings)},
                               {"options_effective", effective_options(compiled.model, settings)},
                               {"load_options", Json::object()},
                               {"recorded_in_engine", import_settings(settings)},
                               {"runtime", "openvino"},
                               {"version", library_version()},
                               {"engine_head", imported.head},
                               {"cpu_features", cpu_features()}});
    file.commit();
    return facts;
}

}  // namespace requal::toolchain::openvino
