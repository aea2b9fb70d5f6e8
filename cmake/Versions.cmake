# Reads scripts/versions.env (KEY=VALUE, the one place where versions are pinned) into variables REQUAL_PIN_<KEY>, and finds
# the folder where scripts/setup puts what it fetches.

file(STRINGS "${CMAKE_SOURCE_DIR}/scripts/versions.env" _requal_lines REGEX "^[A-Za-z0-9_]+=")
foreach(_requal_line IN LISTS _requal_lines)
  if(_requal_line MATCHES "^([A-Za-z0-9_]+)=\"?([^\"]*)\"?$")
    set(REQUAL_PIN_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endif()
endforeach()

if(NOT DEFINED REQUAL_DEPS)
  if(DEFINED ENV{REQUAL_DEPS} AND NOT "$ENV{REQUAL_DEPS}" STREQUAL "")
    set(_requal_deps "$ENV{REQUAL_DEPS}")
  elseif(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(_requal_deps "$ENV{XDG_CACHE_HOME}/requal/deps")
  else()
    set(_requal_deps "$ENV{HOME}/.cache/requal/deps")
  endif()
  set(REQUAL_DEPS "${_requal_deps}" CACHE PATH "Folder that scripts/setup fills with dependencies")
endif()
