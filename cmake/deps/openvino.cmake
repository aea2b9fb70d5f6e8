# OpenVINO: target requal_openvino. OpenVINO_DIR, as the vendor's set-up sets it, wins over the wheel of scripts/setup.
set_property(GLOBAL PROPERTY REQUAL_DEP_OPTIONAL_openvino TRUE)
find_package(OpenVINO QUIET COMPONENTS Runtime
  PATHS "${REQUAL_DEPS}/openvino-${REQUAL_PIN_OPENVINO_VERSION}/openvino/cmake")
if(NOT OpenVINO_FOUND)
  requal_dep_missing(openvino "OpenVINO ${REQUAL_PIN_OPENVINO_VERSION} is not in the dependency folder and OpenVINO_DIR names none")
  return()
endif()
add_library(requal_openvino INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_openvino INTERFACE openvino::runtime)
