find_package(LibArchive REQUIRED)
add_library(requal_libarchive INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_libarchive INTERFACE LibArchive::LibArchive)
