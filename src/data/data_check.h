// requal data check: everything that can be said about a data set, in one pass over its pictures.
#pragma once

#include "base/document.h"
#include "data/dataset.h"

namespace requal::data {

struct DataCheckOptions {
    bool pictures = true;  ///< open and decode every picture
    int near_bits =
        10;  ///< pictures whose hashes differ by at most so many of 256 bits look alike; < 0: not looked for
    unsigned threads = 1;
};

/// The document data-check/1: parts with counts by class, size, band, tag and class x band; findings; overlaps. Verdict fail when
/// there is an error (an overlap between parts is one). One picture a thread is in memory at a time; of each picture 80 bytes are kept.
Json check_data(const DataSetSpec& spec, const DataCheckOptions& options);

}  // namespace requal::data
