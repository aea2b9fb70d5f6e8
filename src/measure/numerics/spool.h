// Tensors of many samples set aside on disk, written once and read back once in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

namespace requal::measure {

/// An unlinked file in $TMPDIR: nothing is left behind however the process ends. Memory holds one sample at most.
class Spool {
public:
    Spool();
    void write(const NamedTensors& tensors);
    void rewind();
    /// The next sample; its tensors are valid until the next call.
    NamedTensors read();

private:
    void put(const void* bytes, std::size_t size);
    void take(void* target, std::size_t size);
    std::uint64_t take_number();
    std::string take_text();
    void flush();

    std::string folder_;
    FileDescriptor file_;
    std::vector<std::byte> head_;  ///< small pieces on their way out
    std::size_t head_used_ = 0;
    std::vector<std::byte> sample_;  ///< bytes of the sample read last
};

}  // namespace requal::measure
