// Checksums that artefacts carry of themselves. They find damage; none of them protects against someone who means harm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "artifact/byte_source.h"

namespace requal::artifact {

/// CRC-32 of ISO-HDLC (zlib's), of all bytes.
std::uint32_t crc32_of(const ByteSource& bytes);

/// MD5 (RFC 1321) of all bytes, 32 hexadecimal digits.
std::string md5_of(const ByteSource& bytes);

/// XXH3 with 64 bits, no seed and the default secret (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), of all bytes; nullopt for 240
/// bytes and fewer, which it hashes by other rules and which no artefact is.
std::optional<std::uint64_t> xxh3_64_of(const ByteSource& bytes);

}  // namespace requal::artifact
