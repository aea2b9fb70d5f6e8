# Boost.Math, headers only
find_package(Boost 1.74 REQUIRED)
add_library(requal_boost INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_boost INTERFACE Boost::headers)
