find_package(SQLite3 REQUIRED)
add_library(requal_sqlite3 INTERFACE IMPORTED GLOBAL)
target_link_libraries(requal_sqlite3 INTERFACE SQLite::SQLite3)
