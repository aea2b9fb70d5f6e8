# yaml-cpp; its target is called yaml-cpp up to 0.7 and yaml-cpp::yaml-cpp from 0.8 on
find_package(yaml-cpp REQUIRED)
add_library(requal_yaml_cpp INTERFACE IMPORTED GLOBAL)
if(TARGET yaml-cpp::yaml-cpp)
  target_link_libraries(requal_yaml_cpp INTERFACE yaml-cpp::yaml-cpp)
else()
  target_link_libraries(requal_yaml_cpp INTERFACE yaml-cpp)
  target_include_directories(requal_yaml_cpp SYSTEM INTERFACE ${YAML_CPP_INCLUDE_DIR})
endif()
