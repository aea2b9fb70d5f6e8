// samples.json: the order and the digests of samples saved in one folder (schema samples/1).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "tensor/tensor.h"

namespace requal::data {

/// One saved sample. `file` is relative to the folder and empty in a list of names only (one npz holds all samples).
struct SavedSample {
    std::string name;
    std::string file;
    std::optional<Digest> digest;  ///< of the file
    std::optional<Digest>
        inputs_digest;  ///< digest_of_sample() of the inputs that gave these outputs
};

/// Reads a samples.json: the document samples/1, or a bare JSON array of names. Error(input) with file and what is wrong.
std::vector<SavedSample> read_sample_list(const std::string& path);

/// Samples of a folder: those of its samples.json in that order, else its files with `extension` (".npz") in name order; an empty
/// list when there are none.
std::vector<SavedSample> list_samples(const std::string& folder, std::string_view extension);

/// Digest over names and digests of all files of the list, in order; files are read.
Digest digest_of_samples(const std::string& folder, const std::vector<SavedSample>& samples);

/// The document, without members that are not known.
Json sample_list_document(const std::vector<SavedSample>& samples);

/// What a file is by its first bytes.
enum class ArrayFile { npy, npz, other };
ArrayFile array_file_kind(const std::string& path);

/// Sample `index` of an array whose first axis counts samples; shares the array's bytes.
Tensor row_of(const std::shared_ptr<const Tensor>& stacked, std::uint64_t index);

}  // namespace requal::data
