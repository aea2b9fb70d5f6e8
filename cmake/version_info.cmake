# Writes base/version_info.h; called at each build, changes the file only when what it says changes.
set(_commit "unstamped")
if(STAMP)
  set(_commit "unknown")
  find_program(_git git)
  if(_git)
    execute_process(COMMAND "${_git}" -C "${SOURCE_DIR}" rev-parse --verify --quiet HEAD
      OUTPUT_VARIABLE _head RESULT_VARIABLE _rc OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(_rc EQUAL 0)
      set(_commit "${_head}")
      execute_process(COMMAND "${_git}" -C "${SOURCE_DIR}" status --porcelain --untracked-files=no
        OUTPUT_VARIABLE _changed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(NOT _changed STREQUAL "")
        string(APPEND _commit "+modified")
      endif()
    endif()
  endif()
endif()
set(_text "// Written by the build. Do not edit.
#pragma once

namespace requal {

inline constexpr char version_number[] = \"${VERSION}\";
// the git commit, with +modified when tracked files differed from it; \"unstamped\" in developers' builds
inline constexpr char version_commit[] = \"${_commit}\";

}  // namespace requal
")
set(_old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" _old)
endif()
if(NOT _old STREQUAL _text)
  file(WRITE "${OUT}.new" "${_text}")
  file(RENAME "${OUT}.new" "${OUT}")
endif()
