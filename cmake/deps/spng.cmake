find_package(PkgConfig REQUIRED)
pkg_search_module(REQUAL_SPNG REQUIRED IMPORTED_TARGET GLOBAL spng libspng)
add_library(requal_spng INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_spng INTERFACE PkgConfig::REQUAL_SPNG)
