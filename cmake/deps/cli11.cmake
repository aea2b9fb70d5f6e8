# CLI11: headers only; included in exactly one source file of ours
find_package(CLI11 REQUIRED)
add_library(requal_cli11 INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_cli11 INTERFACE CLI11::CLI11)
