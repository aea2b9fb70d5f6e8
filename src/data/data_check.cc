#include "data/data_check.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "data/near_duplicate.h"
#include "data/picture.h"

namespace requal::data {

namespace {

/// What is kept of a picture after the pass.
struct PictureFacts {
    bool there = false;
    bool decoded = false;
    Digest digest;
    PictureHash hash{};
};

struct CheckedPart {
    DataPart part;
    std::vector<PictureFacts> facts;
};

class Checker {
public:
    Checker(const DataSetSpec& spec, const DataCheckOptions& options)
        : spec_(spec), options_(options) {}

    Json run() {
        for (const PartSource& source : spec_.parts) {
            parts_.push_back({read_part(spec_, source, findings_), {}});
            parts_.back().facts.resize(parts_.back().part.samples.size());
        }
        if (options_.pictures) {
            open_pictures();
        }
        take_stated_digests();
        Json overlaps = Json::array();
        find_overlaps(overlaps);
        find_strangers();
        Json document = new_document("data-check", 1);
        document["dataset"] = Json::object({{"path", spec_.path}});
        if (spec_.digest != Digest{}) {
            document["dataset"]["digest"] = spec_.digest.text();
        }
        document["parts"] = Json::array();
        for (const CheckedPart& checked : parts_) {
            document["parts"].push_back(describe(checked));
        }
        document["overlaps"] = std::move(overlaps);
        document["overlaps_found"] = overlaps_found_;
        document["pictures_opened"] = options_.pictures;
        document["errors"] = findings_.errors();
        document["warnings"] = findings_.warnings();
        Json counts = Json::object();
        for (const auto& [kind, count] : findings_.counts()) {
            counts[kind] = count;
        }
        document["finding_counts"] = std::move(counts);
        Json list = Json::array();
        for (const Finding& finding : findings_.kept()) {
            list.push_back(Json::object({{"severity", finding.error ? "error" : "warning"},
                                         {"kind", finding.kind},
                                         {"where", finding.where},
                                         {"message", finding.message}}));
        }
        document["findings"] = std::move(list);
        document["verdict"] = findings_.errors() > 0 ? "fail" : "pass";
        return document;
    }

private:
    void add(bool error, const std::string& kind, const std::string& where,
             const std::string& message) {
        const std::lock_guard lock(mutex_);
        findings_.add(error, kind, where, message);
    }

    void open_pictures() {
        std::vector<std::pair<std::size_t, std::size_t>> work;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            for (std::size_t i = 0; i < parts_[p].part.samples.size(); ++i) {
                if (!parts_[p].part.samples[i].path.empty()) {
                    work.emplace_back(p, i);
                }
            }
        }
        Progress progress("data check", work.size());
        std::atomic<std::size_t> next{0};
        std::atomic<bool> stop{false};
        std::exception_ptr failure;
        const auto worker = [&](bool tells) {
            std::size_t told = 0;
            try {
                for (std::size_t at = next++; at < work.size() && !stop; at = next++) {
                    open_one(parts_[work[at].first], work[at].second);
                    throw_if_cancelled();
                    if (tells && at > told) {
                        progress.advance(at - told);
                        told = at;
                    }
                }
            } catch (...) {
                stop = true;
                const std::lock_guard lock(mutex_);
                failure = failure ? failure : std::current_exception();
            }
        };
        std::vector<std::thread> threads;
        for (unsigned i = 1; i < options_.threads; ++i) {
            threads.emplace_back(worker, false);
        }
        worker(true);
        for (std::thread& thread : threads) {
            thread.join();
        }
        if (failure) {
            std::rethrow_exception(failure);
        }
    }

    void open_one(CheckedPart& checked, std::size_t index) {
        LabelledSample& sample = checked.part.samples[index];
        PictureFacts& facts = checked.facts[index];
        if (!file_exists(sample.path)) {
            add(true, "missing-file", sample.path, "the picture is not there");
            return;
        }
        try {
            const std::string bytes = read_file(sample.path, std::uint64_t{512} << 20);
            const auto view = std::as_bytes(std::span(bytes));
            facts.there = true;
            facts.digest = digest_of(bytes);
            if (sample.digest && *sample.digest != facts.digest) {
                add(true, "digest-differs", sample.path,
                    "the file is not the one that was listed: its digest differs");
            }
            PictureRules rules;
            rules.exif = ExifRule::ignore;
            rules.sixteen_bit = DepthRule::high_byte;
            const PictureHeader header = read_picture_header(view, sample.path);
            check_size(sample, header);
            const Picture picture = decode_picture(view, rules, sample.path);
            facts.decoded = true;
            facts.hash = hash_of_picture(picture);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::input) {
                throw;
            }
            add(true, "not-decodable", sample.path, error.message());
        }
    }

    void check_size(const LabelledSample& sample, const PictureHeader& header) {
        const bool turned = header.orientation >= 5;
        const std::int64_t width = turned ? header.height : header.width;
        const std::int64_t height = turned ? header.width : header.height;
        if (header.orientation != 1) {
            add(false, "exif-turned", sample.path,
                "is stored turned (EXIF orientation " + std::to_string(header.orientation) +
                    "); its labels hold only for pipelines that turn it");
        }
        if (sample.width > 0 && (sample.width != width || sample.height != height)) {
            add(true, "size-differs", sample.path,
                "is " + std::to_string(width) + "x" + std::to_string(height) + "; its labels say " +
                    std::to_string(sample.width) + "x" + std::to_string(sample.height));
        }
    }

    /// Of pictures that were not opened the digest that a list or the labels state is what is known.
    void take_stated_digests() {
        for (CheckedPart& checked : parts_) {
            for (std::size_t i = 0; i < checked.facts.size(); ++i) {
                const LabelledSample& sample = checked.part.samples[i];
                if ((!options_.pictures || sample.path.empty()) && sample.digest) {
                    checked.facts[i].there = true;
                    checked.facts[i].digest = *sample.digest;
                }
            }
        }
    }

    /// Samples of a part that should be some of another part's, and are not.
    void find_strangers() {
        for (const CheckedPart& inner : parts_) {
            for (const CheckedPart& outer : parts_) {
                if (outer.part.source.name != inner.part.source.within) {
                    continue;
                }
                std::set<Digest> known;
                for (const PictureFacts& facts : outer.facts) {
                    if (facts.there) {
                        known.insert(facts.digest);
                    }
                }
                for (std::size_t i = 0; i < inner.facts.size(); ++i) {
                    if (inner.facts[i].there && !known.contains(inner.facts[i].digest)) {
                        add(true, "not-within",
                            inner.part.source.name + ": " + inner.part.samples[i].name,
                            "is no sample of part '" + outer.part.source.name + "'");
                    }
                }
            }
        }
    }

    /// True when samples of one part are meant to be samples of the other.
    bool related(std::size_t a, std::size_t b) const {
        const PartSource& first = parts_[a].part.source;
        const PartSource& second = parts_[b].part.source;
        return first.within == second.name || second.within == first.name;
    }

    struct Entry {
        std::size_t part;
        std::size_t sample;
    };

    const std::string& path_of(const Entry& entry) const {
        const LabelledSample& sample = parts_[entry.part].part.samples[entry.sample];
        return sample.path.empty() ? sample.name : sample.path;
    }

    void overlap_found(Json& overlaps, const std::string& how, const Entry& a, const Entry& b,
                       int bits) {
        const bool between = a.part != b.part;
        const std::string kind =
            between ? (how == "digest" ? "parts-overlap" : "parts-look-alike") : "look-alike";
        const std::string where = parts_[b.part].part.source.name + ": " + path_of(b);
        // equal bytes in two parts make a test worthless; what merely looks alike a person must judge
        findings_.add(between && how == "digest", kind, where,
                      (how == "digest" ? "is the same file as " : "looks like ") +
                          parts_[a.part].part.source.name + ": " + path_of(a));
        if (++overlaps_found_ <= 200) {
            overlaps.push_back(Json::object(
                {{"how", how},
                 {"bits", bits},
                 {"first",
                  Json::object({{"part", parts_[a.part].part.source.name}, {"path", path_of(a)}})},
                 {"second", Json::object({{"part", parts_[b.part].part.source.name},
                                          {"path", path_of(b)}})}}));
        }
    }

    void find_overlaps(Json& overlaps) {
        std::map<Digest, Entry> by_digest;
        std::vector<Entry> entries;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            for (std::size_t i = 0; i < parts_[p].facts.size(); ++i) {
                const PictureFacts& facts = parts_[p].facts[i];
                if (!facts.there) {
                    continue;
                }
                const Entry entry{p, i};
                const auto [known, added] = by_digest.emplace(facts.digest, entry);
                if (!added) {
                    if (!related(p, known->second.part)) {
                        overlap_found(overlaps, "digest", known->second, entry, 0);
                    }
                } else if (facts.decoded) {
                    entries.push_back(entry);
                }
            }
        }
        if (options_.near_bits < 0) {
            return;
        }
        for (std::size_t b = 0; b < entries.size(); ++b) {
            throw_if_cancelled();
            const PictureHash& hash = parts_[entries[b].part].facts[entries[b].sample].hash;
            for (std::size_t a = 0; a < b; ++a) {
                const int bits =
                    distance(parts_[entries[a].part].facts[entries[a].sample].hash, hash);
                if (bits <= options_.near_bits) {
                    overlap_found(overlaps, "look", entries[a], entries[b], bits);
                }
            }
        }
    }

    Json describe(const CheckedPart& checked) {
        const DataPart& part = checked.part;
        std::map<std::string, std::uint64_t> by_class;
        std::map<std::string, std::uint64_t> by_size;
        std::map<std::string, std::uint64_t> by_tag;
        std::map<std::string, std::uint64_t> samples_by_tag;
        std::map<std::string, std::map<std::string, std::uint64_t>> by_band;
        std::map<std::string, std::map<std::string, std::map<std::string, std::uint64_t>>> crossed;
        for (const Category& category : part.categories) {
            by_class[category.name] = 0;
        }
        std::vector<bool> has_objects(part.samples.size(), false);
        const auto bands = [&](const std::map<std::string, double>& attributes,
                               const std::string& class_name, const std::string& where) {
            for (const auto& [name, borders] : spec_.bands) {
                const auto value = attributes.find(name);
                std::string band = "none";
                if (value == attributes.end()) {
                    findings_.add(false, "no-attribute", where, "has no " + name);
                } else if (const int number = band_of(value->second, borders); number >= 0) {
                    band = band_name(borders, number);
                } else {
                    findings_.add(false, "outside-bands", where,
                                  name + " lies outside of all bands");
                }
                ++by_band[name][band];
                ++crossed[name][class_name][band];
            }
        };
        for (const LabelledObject& object : part.objects) {
            const std::string& name = part.category(object.category_id)->name;
            has_objects[object.sample] = true;
            ++by_class[name];
            ++by_size[std::string(size_name(object.area))];
            for (const std::string& tag : object.tags) {
                ++by_tag[tag];
            }
            bands(object.attributes, name,
                  part.source.name + ": object " + std::to_string(object.id));
        }
        std::uint64_t empty = 0;
        const bool listed = part.source.format == LabelFormat::listed;
        for (std::size_t i = 0; i < part.samples.size(); ++i) {
            const LabelledSample& sample = part.samples[i];
            for (const std::string& tag : sample.tags) {
                ++samples_by_tag[tag];
            }
            if (part.task == Task::detection) {
                empty += has_objects[i] || listed ? 0 : 1;
                continue;
            }
            if (listed) {
                continue;
            }
            const Category* category =
                sample.category_id ? part.category(*sample.category_id) : nullptr;
            if (category == nullptr) {
                findings_.add(true, "no-label", part.source.name + ": " + sample.name,
                              "the sample has no class");
                continue;
            }
            ++by_class[category->name];
            bands(sample.attributes, category->name, part.source.name + ": " + sample.name);
        }
        for (const auto& [name, count] : by_class) {
            if (count == 0) {
                findings_.add(false, "empty-class", part.source.name, "no '" + name + "' in it");
            }
        }
        const auto json_of = [](const std::map<std::string, std::uint64_t>& counts) {
            Json result = Json::object();
            for (const auto& [name, count] : counts) {
                result[name] = count;
            }
            return result;
        };
        Json result = Json::object();
        result["name"] = part.source.name;
        result["task"] = part.task == Task::detection ? "detection" : "classification";
        result["samples"] = static_cast<std::uint64_t>(part.samples.size());
        result["objects"] = static_cast<std::uint64_t>(part.objects.size());
        result["samples_without_objects"] = empty;
        result["labels_digest"] = part.labels_digest.text();
        if (part.list_digest) {
            result["list_digest"] = part.list_digest->text();
        }
        result["listed_only"] = listed;
        if (!part.source.within.empty()) {
            result["within"] = part.source.within;
        }
        result["by_class"] = json_of(by_class);
        result["by_size"] = json_of(by_size);
        result["by_tag"] = json_of(by_tag);
        result["samples_by_tag"] = json_of(samples_by_tag);
        result["by_band"] = Json::object();
        result["by_class_and_band"] = Json::object();
        for (const auto& [name, counts] : by_band) {
            result["by_band"][name] = json_of(counts);
            for (const auto& [class_name, inner] : crossed[name]) {
                result["by_class_and_band"][name][class_name] = json_of(inner);
            }
        }
        return result;
    }

    const DataSetSpec& spec_;
    const DataCheckOptions& options_;
    Findings findings_;
    std::vector<CheckedPart> parts_;
    std::mutex mutex_;
    std::uint64_t overlaps_found_ = 0;
};

}  // namespace

Json check_data(const DataSetSpec& spec, const DataCheckOptions& options) {
    return Checker(spec, options).run();
}

}  // namespace requal::data
