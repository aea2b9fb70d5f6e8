// Reads the standard error of a child in a thread of its own and keeps the end
// of it.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/process.h"

namespace requal {

/// Keeps the last 64 KiB of what comes through a pipe.
class Child::ErrorDrain {
public:
    explicit ErrorDrain(FileDescriptor read_end);
    ~ErrorDrain();
    ErrorDrain(const ErrorDrain&) = delete;
    ErrorDrain& operator=(const ErrorDrain&) = delete;

    /// Reads what the pipe holds now, then ends the thread; for a child that has
    /// ended. What still holds the write end (a grandchild) is not waited for.
    void finish();
    std::string tail();

private:
    void read_all();
    bool read_some();
    void keep(const char* bytes, std::size_t count);

    FileDescriptor pipe_;
    FileDescriptor stop_read_;
    FileDescriptor stop_write_;
    std::mutex mutex_;
    std::string ring_;       ///< guarded by mutex_
    std::size_t start_ = 0;  ///< of the oldest byte once the ring is full; guarded by mutex_
    std::thread thread_;
};

}  // namespace requal
