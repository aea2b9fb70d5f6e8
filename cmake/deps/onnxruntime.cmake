# ONNX Runtime: target requal_onnxruntime. ONNXRUNTIME_ROOT (variable or environment) names a release archive's folder, with
# include/ and lib/; without it the one that scripts/setup put together is used.
set_property(GLOBAL PROPERTY REQUAL_DEP_OPTIONAL_onnxruntime TRUE)
if(NOT ONNXRUNTIME_ROOT)
  if(DEFINED ENV{ONNXRUNTIME_ROOT} AND NOT "$ENV{ONNXRUNTIME_ROOT}" STREQUAL "")
    set(ONNXRUNTIME_ROOT "$ENV{ONNXRUNTIME_ROOT}")
  else()
    set(ONNXRUNTIME_ROOT "${REQUAL_DEPS}/onnxruntime-${REQUAL_PIN_ONNXRUNTIME_VERSION}")
  endif()
endif()
unset(_requal_include CACHE)
unset(_requal_library CACHE)
find_path(_requal_include onnxruntime_cxx_api.h PATHS "${ONNXRUNTIME_ROOT}/include" "${ONNXRUNTIME_ROOT}/include/onnxruntime"
  "${ONNXRUNTIME_ROOT}/include/onnxruntime/core/session" NO_DEFAULT_PATH NO_CACHE)
find_library(_requal_library NAMES onnxruntime libonnxruntime.so.1 PATHS "${ONNXRUNTIME_ROOT}/lib" "${ONNXRUNTIME_ROOT}/lib64"
  NO_DEFAULT_PATH NO_CACHE)
if(NOT _requal_include OR NOT _requal_library)
  requal_dep_missing(onnxruntime "no ONNX Runtime headers and library below ${ONNXRUNTIME_ROOT}")
  return()
endif()
add_library(requal_onnxruntime SHARED IMPORTED GLOBAL)
set_target_properties(requal_onnxruntime PROPERTIES IMPORTED_LOCATION "${_requal_library}" IMPORTED_SONAME "libonnxruntime.so.1")
target_include_directories(requal_onnxruntime SYSTEM INTERFACE "${_requal_include}")
