find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
add_library(requal_openssl INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_openssl INTERFACE OpenSSL::Crypto)
