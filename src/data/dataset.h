// Labelled data: samples with their objects or class, categories, attributes and tags; from COCO JSON, folders, npz and CSV lists.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/json.h"

namespace requal::data {

struct Category {
    std::int64_t id = 0;
    std::string name;
};

/// One labelled object. The box is left, top, width, height in pixels.
struct LabelledObject {
    std::int64_t id = 0;
    std::size_t sample = 0;  ///< index in DataPart::samples
    std::int64_t category_id = 0;
    std::array<double, 4> box{};
    double area = 0;
    bool crowd = false;
    std::map<std::string, double> attributes;
    std::vector<std::string> tags;
};

/// One sample: a picture or a row of an npz.
struct LabelledSample {
    std::int64_t id = 0;
    std::string name;  ///< as the labels write it; unique in its part
    std::string path;  ///< of the picture; empty for rows of an npz
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::optional<std::int64_t> category_id;  ///< of the whole sample (classification)
    std::optional<Digest> digest;             ///< that the list or the labels state
    std::map<std::string, double> attributes;
    std::vector<std::string> tags;
};

/// Something odd. Errors make labels unusable; warnings are worth a look.
struct Finding {
    bool error = true;
    std::string kind;  ///< "unknown-category", "box-outside", ...
    std::string where;
    std::string message;
};

/// Findings: all are counted, the first few of each kind are kept.
class Findings {
public:
    static constexpr std::size_t kept_of_each = 20;
    void add(bool error, const std::string& kind, std::string where, std::string message);
    std::uint64_t errors() const { return errors_; }
    std::uint64_t warnings() const { return warnings_; }
    const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
    const std::vector<Finding>& kept() const { return kept_; }
    /// Throws the first error as Error(input) with advice to run `requal data check`.
    void throw_first_error() const;

private:
    std::uint64_t errors_ = 0;
    std::uint64_t warnings_ = 0;
    std::map<std::string, std::uint64_t> counts_;
    std::vector<Finding> kept_;
};

enum class LabelFormat { coco, folder, npz, csv, listed };
enum class Task { detection, classification };

/// Where one part comes from.
struct PartSource {
    std::string name;  ///< "test"
    LabelFormat format = LabelFormat::coco;
    std::string labels;  ///< COCO JSON, npz or CSV; empty for a folder
    std::string root;    ///< folder of the pictures
    std::string list;    ///< list file "SHA256  NAME"; empty: every sample of the labels
    std::string within;  ///< the part whose samples these are some of; empty: they are of no other
};

/// A dataset spec (schema dataset/1), or one made of a single file or folder.
struct DataSetSpec {
    Task task = Task::detection;
    std::vector<PartSource> parts;
    std::map<std::string, std::vector<double>> bands;  ///< borders of numeric attributes, ascending
    std::vector<std::string>
        classes;  ///< folders, csv, npz: names in order of the ids, from 0; empty: as found
    Digest digest;
    std::string path;
    const PartSource& part(std::string_view name) const;  ///< Error(usage) that names the parts
};

/// One part, read.
struct DataPart {
    PartSource source;
    Task task = Task::detection;
    std::vector<Category> categories;
    std::vector<LabelledSample> samples;  ///< in the order of the list, else of the labels
    std::vector<LabelledObject> objects;  ///< ordered by sample, then as in the labels
    Digest labels_digest;                 ///< of the label file; of names and digests for a folder
    std::optional<Digest> list_digest;
    const Category* category(std::int64_t id) const;
    /// Objects of sample `index`: [first, last) in `objects`.
    std::pair<std::size_t, std::size_t> objects_of(std::size_t index) const;
};

/// Reads a dataset spec (YAML), or takes FILE.json (COCO; pictures in `images`, else beside it), FILE.npz, FILE.csv or a folder with one folder a class
/// as its only part "all". Error(input|usage).
DataSetSpec read_dataset_spec(const std::string& path, const std::string& images = {});

/// Reads the labels of one part; pictures are not opened. What is odd goes to `findings`; samples and objects that cannot be used are left
/// out. Error(input) only when the file as a whole cannot be read. Memory grows with the labels, not with the pictures. Samples of a part
/// that is only a list have a name and a digest, no path and no label.
DataPart read_part(const DataSetSpec& spec, const PartSource& source, Findings& findings);

/// The same, and Error(input) at the first error found, or when the part is only a list.
DataPart load_part(const DataSetSpec& spec, std::string_view part);

/// One line of a list file: digest and name, as sha256sum writes them.
struct ListedFile {
    Digest digest;
    std::string name;
    std::string where;  ///< FILE:LINE
};
std::vector<ListedFile> read_list(const std::string& path);

/// Number of the band of `value`: i when borders[i] <= value < borders[i + 1] (the last border belongs to the last band); -1 outside.
int band_of(double value, const std::vector<double>& borders);
/// "0.4-0.8"
std::string band_name(const std::vector<double>& borders, int band);
/// COCO's size of an object by its area in pixels: small (< 32^2), medium (< 96^2), large.
std::string_view size_name(double area);

}  // namespace requal::data
