// Memory for pixels and prepared inputs, kept for the next picture: giving megabytes back to the system and asking for them again
// cost as much as decoding did (page faults).
#pragma once

#include <cstddef>
#include <memory>

namespace requal::data {

/// At least `size_bytes`, aligned to 64 bytes, not filled. std::bad_alloc when there is none. Safe from several threads at once.
std::byte* take_block(std::size_t size_bytes);
/// Back from take_block(), with the same size. At most 64 MiB are kept; small blocks are not.
void give_block(std::byte* block, std::size_t size_bytes) noexcept;

/// The same, given back when the last owner goes.
std::shared_ptr<std::byte> shared_block(std::size_t size_bytes);

}  // namespace requal::data
