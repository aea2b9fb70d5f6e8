# Writes a C++ file that holds the files named in LIST (one absolute path a line), names relative to ROOT. FUNCTION gives the files;
# without it embedded_files() does, and embedded_digest() their digest.
file(STRINGS "${LIST}" _paths)
set(_entries "")
set(_sums "")
foreach(_path IN LISTS _paths)
  file(RELATIVE_PATH _name "${ROOT}" "${_path}")
  file(READ "${_path}" _hex HEX)
  file(SHA256 "${_path}" _sum)
  file(SIZE "${_path}" _size)
  string(APPEND _sums "${_sum}  ${_name}\n")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" _bytes "${_hex}")
  # at most 512 bytes on a line
  string(REGEX REPLACE "(................................................................................................................................)" "\\1\"\n     \"" _bytes "${_bytes}")
  string(APPEND _entries "    {std::string_view(\"${_name}\"),\n     std::string_view(\"${_bytes}\", ${_size})},\n")
endforeach()
string(SHA256 _digest "${_sums}")
list(LENGTH _paths _count)
if(_count EQUAL 0)
  set(_span "{}")
  set(_array "")
else()
  set(_span "files")
  set(_array "constexpr EmbeddedFile files[] = {\n${_entries}};\n")
endif()
if(FUNCTION)
  set(_rest "// declared here too
std::span<const EmbeddedFile> ${FUNCTION}();
std::span<const EmbeddedFile> ${FUNCTION}() { return ${_span}; }
")
else()
  set(_rest "std::span<const EmbeddedFile> embedded_files() { return ${_span}; }

// declared here too: the SHA-256 of what sha256sum prints for these files in this order
std::string_view embedded_digest();
std::string_view embedded_digest() { return \"${_digest}\"; }
")
endif()
file(WRITE "${OUT}" "// Written by the build. Do not edit.
#include \"base/embedded.h\"

#include <span>
#include <string_view>

namespace requal {

namespace {
${_array}}  // namespace

${_rest}
}  // namespace requal
")
