# Builds one runner in the release preset and links to it from a sanitizer's build folder.
set(_build "${SOURCE_DIR}/build/release")
if(NOT EXISTS "${_build}/build.ninja")
  execute_process(COMMAND "${CMAKE_COMMAND}" --preset release -D "REQUAL_DEPS=${DEPS}" WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${_build}" --target "${TARGET}"
  OUTPUT_VARIABLE _output RESULT_VARIABLE _status)
if(NOT _status EQUAL 0)
  message(FATAL_ERROR "${TARGET} did not build in the release preset:\n${_output}")
endif()
get_filename_component(_folder "${LINK}" DIRECTORY)
file(MAKE_DIRECTORY "${_folder}")
file(CREATE_LINK "${_build}/libexec/requal/${TARGET}" "${LINK}" SYMBOLIC)
