find_package(GTest REQUIRED)
add_library(requal_gtest INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_gtest INTERFACE GTest::gmock GTest::gtest GTest::gtest_main)
