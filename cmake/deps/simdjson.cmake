find_package(simdjson REQUIRED)
add_library(requal_simdjson INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_simdjson INTERFACE simdjson::simdjson)
