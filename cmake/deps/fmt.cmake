# libfmt, statically
find_package(fmt REQUIRED)
add_library(requal_fmt INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_fmt INTERFACE fmt::fmt)
