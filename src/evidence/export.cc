#include "evidence/export.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "evidence/history.h"
#include "evidence/layout.h"
#include "evidence/tar.h"
#include "store/batch.h"
#include "store/files.h"

namespace requal::evidence {

namespace {

constexpr std::uint64_t small_bytes = 1 << 20;
constexpr std::uint64_t record_limit_bytes = 64 << 20;

/// A file descriptor that stands at the first byte of a blob.
struct Opened {
    FileDescriptor file;
    std::string source;
};
using Open = std::function<Opened(const Digest&)>;

std::string read_exactly(int fd, std::uint64_t size, const std::string& source) {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    std::size_t used = 0;
    while (used < bytes.size()) {
        const ssize_t count = ::read(fd, bytes.data() + used, bytes.size() - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw_errno(errno, "read", source);
        if (count == 0)
            break;
        used += static_cast<std::size_t>(count);
    }
    bytes.resize(used);
    return bytes;
}

void write_blob(TarWriter& tar, int out, const std::string& output, const Digest& digest,
                std::uint64_t size_bytes, const Open& open) {
    const Opened blob = open(digest);
    tar.begin(blob_name(digest), size_bytes);
    Digest seen{};
    std::uint64_t read = 0;
    if (size_bytes <= small_bytes) {
        const std::string bytes = read_exactly(blob.file.get(), size_bytes, blob.source);
        read = bytes.size();
        seen = digest_of(bytes);
        write_all(out, std::as_bytes(std::span(bytes.data(), bytes.size())), output);
    } else {
        const store::Copied copied =
            store::copy_and_hash(blob.file.get(), blob.source, out, output, false, size_bytes);
        read = copied.size_bytes;
        seen = copied.digest;
    }
    if (read != size_bytes || seen != digest)
        throw Error(ErrorKind::storage,
                    "damaged: its content no longer has the digest " + digest.text(), blob.source,
                    "see 'requal store check'");
    tar.end(size_bytes);
}

/// The one order in which a package's files stand.
void write_package(const std::string& output, const Json& contents_document,
                   const std::vector<std::string>& envelope_texts, const Contents& contents,
                   const Open& open) {
    const std::string text = write_json(contents_document);
    std::map<Digest, std::string> envelopes;
    for (const std::string& envelope : envelope_texts)
        envelopes.emplace(digest_of(envelope), envelope);
    std::vector<BlobOfPackage> envelope_blobs;
    for (const auto& [digest, envelope] : envelopes)
        envelope_blobs.push_back({digest, envelope.size()});
    const std::string manifest =
        oci_manifest_text({digest_of(text), text.size()}, envelope_blobs, contents);
    AtomicFile file(output);
    TarWriter tar(file.fd(), output);
    tar.add("oci-layout", oci_layout_text);
    tar.add("index.json", oci_index_text(manifest, contents_document.at("protocol").as_string()));
    tar.add(blob_name(digest_of(manifest)), manifest);
    tar.add(blob_name(digest_of(text)), text);
    for (const auto& [digest, envelope] : envelopes)
        tar.add(blob_name(digest), envelope);
    std::uint64_t included = 0;
    for (const auto& [digest, content] : contents)
        included += content.included ? 1 : 0;
    Progress progress("export", included);
    for (const auto& [digest, content] : contents) {
        if (content.included) {
            write_blob(tar, file.fd(), output, digest, content.size_bytes, open);
            progress.advance();
        }
    }
    tar.finish();
    file.commit();
}

/// The protocol that a run's id, a name or a file means in this ledger.
std::string protocol_named(const std::string& ledger_path, const ExportRequest& request) {
    std::string digest;
    if (file_exists(request.name))
        digest = digest_of_file(request.name).text();
    std::string by_run, by_name, by_digest;
    std::set<std::string> known;
    std::string torn;
    store::scan_ledger(
        ledger_path, {},
        [&](const store::Record& record) {
            if (record.type != "work-started" || record.body.get("kind") != Json("qualify"))
                return;
            const std::string& key = record.body.at("key").as_string();
            known.insert(key);
            if (record.body.at("work").as_string() == request.name)
                by_run = key;
            if (key == request.name)
                by_name = key;
            if (!digest.empty() && record.body.get("facts").is_object() &&
                record.body.at("facts").get("protocol") == Json(digest))
                by_digest = key;
        },
        torn);
    for (const std::string& found : {by_run, by_name, by_digest}) {
        if (!found.empty())
            return found;
    }
    std::string names;
    for (const std::string& name : known)
        names += (names.empty() ? "" : ", ") + printable(name);
    throw Error(ErrorKind::input, "no run was ever begun on this in the ledger",
                printable(request.name),
                names.empty() ? "the ledger has no run; see 'requal qualify'"
                              : "protocols with runs: " + names.substr(0, 300));
}

struct ModelOfRun {
    std::string name;
    std::uint64_t size_bytes = 0;
};

/// What records say beside the ledger: which files are engines, which models were run.
void look_into_records(store::Store& store, const History& history, std::set<Digest>& engines,
                       std::map<Digest, ModelOfRun>& models) {
    for (const RunHistory& run : history.runs) {
        for (const StepOfRun& step : run.steps) {
            for (const auto& [name, digest] : step.blobs) {
                if (name.ends_with(".engine"))
                    engines.insert(digest);
            }
        }
        if (!run.record || !store.find_blob(*run.record))
            continue;
        const Json record = parse_json(store.read_blob(*run.record, record_limit_bytes),
                                       "the record of run " + run.run);
        for (const Json& file : record.at("files").as_array()) {
            const std::string& role = file.at("role").as_string();
            if (role == "engine" || role.ends_with("-engine"))
                engines.insert(parse_digest(file.at("digest").as_string()));
        }
        const Json& model = record.get("model");
        if (model.is_object() && model.has("digest"))
            models.emplace(
                parse_digest(model.at("digest").as_string()),
                ModelOfRun{model.at("file").as_string(),
                           static_cast<std::uint64_t>(model.at("size_bytes").as_integer())});
    }
}

Contents contents_of(store::Store& store, const ExportRequest& request, const History& history,
                     std::map<Digest, std::string>& model_files) {
    std::set<Digest> engines;
    std::map<Digest, ModelOfRun> models;
    look_into_records(store, history, engines, models);
    Contents contents;
    for (const auto& [digest, name] : blobs_of(history)) {
        ContentOfPackage content;
        content.name = name;
        const auto path = store.find_blob(digest);
        if (path) {
            content.size_bytes = file_size(*path);
        } else {
            const auto removed = history.removed.find(digest);
            content.size_bytes = store.index().blob_size(digest).value_or(0);
            content.included = false;
            content.why_not = removed == history.removed.end()
                                  ? "not in the store"
                                  : "removed by gc, record " + std::to_string(removed->second);
        }
        if (content.included && !request.engines && engines.contains(digest)) {
            content.included = false;
            content.why_not = "by digest only";
        }
        contents.emplace(digest, std::move(content));
    }
    for (const std::string& path : request.models) {
        const Digest digest = digest_of_file(path);
        if (!models.contains(digest))
            throw Error(ErrorKind::input, "no run was made on this model: " + digest.text(), path,
                        "give the file that a run names by this digest");
        model_files.emplace(digest, path);
    }
    for (const auto& [digest, model] : models) {
        ContentOfPackage content;
        content.name = "model/" + model.name;
        content.size_bytes = model.size_bytes;
        const auto file = model_files.find(digest);
        content.included = file != model_files.end();
        if (content.included)
            content.size_bytes = file_size(file->second);
        else
            content.why_not = "by digest only";
        contents.emplace(digest, std::move(content));
    }
    return contents;
}

}  // namespace

std::vector<Subject> subjects_of(const Json& contents, const Digest& contents_digest) {
    std::vector<Subject> subjects{
        {"evidence:" + contents.at("protocol").as_string(), contents_digest}};
    const Json& ledger = contents.at("ledger");
    const std::int64_t records = ledger.at("records").as_integer();
    subjects.push_back(
        {"ledger:" + ledger.at("ledger").as_string() + ":" + std::to_string(records - 1),
         parse_digest(ledger.at("digest").as_string())});
    for (const Json& run : contents.at("runs").as_array()) {
        if (run.at("record").is_string() && subjects.size() < 5000)
            subjects.push_back({run.at("run").as_string() + "/record.json",
                                parse_digest(run.at("record").as_string())});
    }
    return subjects;
}

ExportOutcome export_evidence(store::Store& store, const ExportRequest& request) {
    // No gc between looking for blobs and reading them.
    FileDescriptor lock;
    if (store.can_write())
        lock = store::lock_file(store.layout().blob_lock(), false, "blobs");
    const std::string id = request.ledger.empty() ? store.ledger_id() : request.ledger;
    const std::string ledger_path = store.layout().ledger(id);
    const std::string protocol = protocol_named(ledger_path, request);
    const History history = read_history(ledger_path, protocol);
    std::map<Digest, std::string> model_files;
    Contents contents = contents_of(store, request, history, model_files);

    // The ledger up to its last whole record, as a file of the package.
    const FileDescriptor ledger_file = store::open_file(ledger_path);
    const store::Copied ledger =
        store::copy_and_hash(ledger_file.get(), ledger_path, -1, {}, false, history.end.offset);
    contents.emplace(ledger.digest, ContentOfPackage{"ledger.jsonl", ledger.size_bytes, true, {}});

    Json document = new_document("evidence-package", 1);
    document["protocol"] = protocol;
    document["ledger"] = Json::object({{"ledger", id},
                                       {"records", history.end.seq},
                                       {"digest", history.end.digest.text()},
                                       {"file", ledger.digest.text()}});
    document["runs"] = runs_json(history);
    document["protocol_signed"] = signings_json(history);
    document["contents"] = contents_json(contents);

    ExportOutcome outcome;
    outcome.protocol = protocol;
    outcome.subjects = subjects_of(document, digest_of(write_json(document)));
    std::vector<std::string> envelopes;
    if (request.sign) {
        for (const Envelope& envelope : request.sign(outcome.subjects))
            envelopes.push_back(write_envelope(envelope));
    }
    outcome.envelopes = envelopes.size();
    write_package(request.output, document, envelopes, contents, [&](const Digest& digest) {
        if (digest == ledger.digest)
            return Opened{store::open_file(ledger_path), ledger_path};
        if (const auto model = model_files.find(digest); model != model_files.end())
            return Opened{open_regular_file(model->second), model->second};
        const std::string path = store.blob_path(digest);
        return Opened{open_regular_file(path), path};
    });
    outcome.contents = std::move(document);
    outcome.size_bytes = file_size(request.output);
    return outcome;
}

PackageHead read_head_of(const std::string& path) {
    TarReader tar(path);
    TarEntry entry;
    PackageHead head;
    const auto expect = [&](std::string_view name) {
        if (!tar.next(entry) || (!name.empty() && entry.name != name))
            throw Error(ErrorKind::input,
                        "no evidence package: its files are not the ones that it has", path);
    };
    expect("oci-layout");
    expect("index.json");
    expect({});
    const Json manifest = parse_json(tar.content(entry, oci_manifest_limit_bytes), path);
    const Json& config = manifest.at("config");
    if (config.at("mediaType").as_string() != contents_media_type)
        throw Error(ErrorKind::input, "an OCI image, but no evidence package", path);
    head.contents_digest = parse_digest(config.at("digest").as_string());
    expect(blob_name(head.contents_digest));
    const std::string text = tar.content(entry, contents_limit_bytes);
    if (digest_of(text) != head.contents_digest)
        throw Error(ErrorKind::input, "the list of contents was changed", path,
                    "see 'requal evidence verify'");
    head.contents = parse_json(text, path + ": contents");
    require_schema(head.contents, "evidence-package", 1, path);
    for (const BlobOfPackage& envelope : envelopes_of(manifest, path)) {
        expect(blob_name(envelope.digest));
        head.envelopes.push_back(tar.content(entry, envelope_limit_bytes));
    }
    return head;
}

void attach_envelopes(const std::string& path, const std::vector<Envelope>& more,
                      const std::string& output) {
    PackageHead head = read_head_of(path);
    for (const Envelope& envelope : more) {
        const Statement statement = read_statement(envelope.payload, "the signature");
        if (!statement.names(head.contents_digest))
            throw Error(ErrorKind::input,
                        "the signature is of something else, not of these contents", path,
                        "sign the digest file of this evidence package");
        head.envelopes.push_back(write_envelope(envelope));
    }
    TarReader tar(path);
    std::map<Digest, TarEntry> blobs;
    TarEntry entry;
    while (tar.next(entry)) {
        if (entry.name.starts_with("blobs/sha256/"))
            blobs.emplace(parse_digest(entry.name.substr(13)), entry);
    }
    const Contents contents = contents_from(head.contents.at("contents"), path);
    write_package(output, head.contents, head.envelopes, contents, [&](const Digest& digest) {
        const auto found = blobs.find(digest);
        if (found == blobs.end())
            throw Error(ErrorKind::input, "the evidence package misses " + digest.text(), path);
        Opened opened{open_regular_file(path), path};
        if (::lseek(opened.file.get(), static_cast<off_t>(found->second.offset), SEEK_SET) < 0)
            throw_errno(errno, "read", path);
        return opened;
    });
}

void pack_layout(const std::string& folder, const std::string& output) {
    const auto blob_path = [&](const Digest& digest) { return folder + "/" + blob_name(digest); };
    const auto read_blob = [&](const Digest& digest, std::uint64_t limit) {
        std::string text = read_file(blob_path(digest), limit);
        if (digest_of(text) != digest)
            throw Error(ErrorKind::storage, "its content no longer has its digest",
                        blob_path(digest));
        return text;
    };
    const std::string index_path = folder + "/index.json";
    const Json index = parse_json(read_file(index_path, 1 << 20), index_path);
    for (const Json& entry : index.at("manifests").as_array()) {
        const Json manifest = parse_json(
            read_blob(parse_digest(entry.at("digest").as_string()), oci_manifest_limit_bytes),
            index_path);
        if (!manifest.get("config").is_object() ||
            manifest.at("config").get("mediaType") != Json(contents_media_type))
            continue;
        const Json contents =
            parse_json(read_blob(parse_digest(manifest.at("config").at("digest").as_string()),
                                 contents_limit_bytes),
                       folder);
        require_schema(contents, "evidence-package", 1, folder);
        std::vector<std::string> envelopes;
        for (const BlobOfPackage& envelope : envelopes_of(manifest, folder))
            envelopes.push_back(read_blob(envelope.digest, envelope_limit_bytes));
        write_package(output, contents, envelopes, contents_from(contents.at("contents"), folder),
                      [&](const Digest& digest) {
                          return Opened{open_regular_file(blob_path(digest)), blob_path(digest)};
                      });
        return;
    }
    throw Error(ErrorKind::input, "this image layout holds no evidence package", folder);
}

ProtocolSigned sign_protocol(store::Store& store, const std::string& name,
                             const std::string& protocol_path,
                             const std::map<std::string, std::string>& files, const Sign& sign) {
    const std::string text = read_file(protocol_path, 16 << 20);
    ProtocolSigned result;
    result.protocol = digest_of(text);
    std::vector<Subject> subjects{{"protocol:" + name, result.protocol}};
    Json names = Json::object();
    for (const auto& [file, bytes] : files) {
        subjects.push_back({file, digest_of(bytes)});
        names[file] = digest_of(bytes).text();
    }
    const store::Head head = store.index().head(store.ledger_id());
    if (head.seq > 0)
        subjects.push_back(
            {"ledger:" + store.ledger_id() + ":" + std::to_string(head.seq - 1), head.digest});
    store::Batch batch(store);
    batch.essential();
    batch.add_bytes(text);
    for (const auto& [file, bytes] : files)
        batch.add_bytes(bytes);
    Json envelopes = Json::array();
    for (const Envelope& envelope : sign(subjects)) {
        result.envelopes.push_back(batch.add_bytes(write_envelope(envelope)).digest);
        envelopes.push_back(result.envelopes.back().text());
    }
    const auto records = batch.commit(
        {{std::string(protocol_signed_record), Json::object({{"name", name},
                                                             {"protocol", result.protocol.text()},
                                                             {"files", names},
                                                             {"envelopes", envelopes}})}});
    result.seq = records.back().seq;
    return result;
}

}  // namespace requal::evidence
