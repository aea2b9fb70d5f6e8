/* Makes the N-th file-system call fail, or kills the process in its place. Loaded with LD_PRELOAD by store_test.py.
 *
 *   REQUAL_FAULT_AT=N       the N-th call that counts (from 1); 0: only count
 *   REQUAL_FAULT_ERROR=E    errno that it fails with; 0: the process is killed before the call
 *   REQUAL_FAULT_STICKY=1   all calls from the N-th on fail (a disk that is full stays full)
 *   REQUAL_FAULT_LOG=FILE   the number of calls that counted is written there at the end, and the name of the N-th
 *
 * Calls that change something count: open for writing, write, pwrite, fsync, fdatasync, syncfs, rename, link, unlink, mkdir, ftruncate,
 * fallocate, close of a file that was written is left out. Reading calls count too where REQUAL_FAULT_READS=1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long count, at = -1, error_number, sticky, reads;

static void set_up(void) {
    if (at >= 0)
        return;
    const char* text = getenv("REQUAL_FAULT_AT");
    at = text ? atol(text) : 0;
    text = getenv("REQUAL_FAULT_ERROR");
    error_number = text ? atol(text) : EIO;
    text = getenv("REQUAL_FAULT_STICKY");
    sticky = text ? atol(text) : 0;
    text = getenv("REQUAL_FAULT_READS");
    reads = text ? atol(text) : 0;
}

static void log_call(const char* name) {
    const char* path = getenv("REQUAL_FAULT_LOG");
    if (!path)
        return;
    char line[100];
    int length = snprintf(line, sizeof line, "%ld %s\n", count, name);
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0) {
        syscall(SYS_write, fd, line, (size_t)length);
        syscall(SYS_close, fd);
    }
}

/* 1: this call fails */
static int fails(const char* name) {
    set_up();
    long mine = __sync_add_and_fetch(&count, 1);
    if (at == 0 || mine == at)
        log_call(name);
    if (at == 0 || mine < at || (mine > at && !sticky))
        return 0;
    if (error_number == 0) {
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
        for (;;)
            pause();
    }
    errno = (int)error_number;
    return 1;
}

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

static int standard(int fd) {
    return fd >= 0 && fd <= 2;
}

ssize_t write(int fd, const void* data, size_t size) {
    if (!standard(fd) && fails("write"))
        return -1;
    return NEXT(ssize_t(*)(int, const void*, size_t), "write")(fd, data, size);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
    if (fails("pwrite"))
        return -1;
    return NEXT(ssize_t(*)(int, const void*, size_t, off64_t), "pwrite64")(fd, data, size, offset);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
    if (fails("pwrite"))
        return -1;
    return NEXT(ssize_t(*)(int, const void*, size_t, off_t), "pwrite")(fd, data, size, offset);
}
ssize_t read(int fd, void* data, size_t size) {
    set_up();
    if (reads && !standard(fd) && fails("read"))
        return -1;
    return NEXT(ssize_t(*)(int, void*, size_t), "read")(fd, data, size);
}
ssize_t pread(int fd, void* data, size_t size, off_t offset) {
    set_up();
    if (reads && fails("pread"))
        return -1;
    return NEXT(ssize_t(*)(int, void*, size_t, off_t), "pread")(fd, data, size, offset);
}
ssize_t pread64(int fd, void* data, size_t size, off64_t offset) {
    set_up();
    if (reads && fails("pread"))
        return -1;
    return NEXT(ssize_t(*)(int, void*, size_t, off64_t), "pread64")(fd, data, size, offset);
}
static int open_fails(const char* path, int flags) {
    set_up();
    if (strncmp(path, "/proc", 5) == 0 || strncmp(path, "/dev", 4) == 0 ||
        strncmp(path, "/sys", 4) == 0 || strncmp(path, "/etc", 4) == 0)
        return 0;
    if ((flags & O_ACCMODE) == O_RDONLY && !reads)
        return 0;
    return fails("open");
}
#define OPEN(name)                                                                                 \
    int name(const char* path, int flags, ...) {                                                   \
        mode_t mode = 0;                                                                           \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                     \
            va_list rest;                                                                          \
            va_start(rest, flags);                                                                 \
            mode = va_arg(rest, mode_t);                                                           \
            va_end(rest);                                                                          \
        }                                                                                          \
        if (open_fails(path, flags))                                                               \
            return -1;                                                                             \
        return NEXT(int (*)(const char*, int, ...), #name)(path, flags, mode);                     \
    }
OPEN(open)
OPEN(open64)
#define ONE_FD(name)                                                                               \
    int name(int fd) {                                                                             \
        if (fails(#name))                                                                          \
            return -1;                                                                             \
        return NEXT(int (*)(int), #name)(fd);                                                      \
    }
ONE_FD(fsync)
ONE_FD(fdatasync)
ONE_FD(syncfs)
#define TWO_PATHS(name)                                                                            \
    int name(const char* from, const char* to) {                                                   \
        if (fails(#name))                                                                          \
            return -1;                                                                             \
        return NEXT(int (*)(const char*, const char*), #name)(from, to);                           \
    }
TWO_PATHS(rename)
TWO_PATHS(link)
int unlink(const char* path) {
    if (fails("unlink"))
        return -1;
    return NEXT(int (*)(const char*), "unlink")(path);
}
int mkdir(const char* path, mode_t mode) {
    if (fails("mkdir"))
        return -1;
    return NEXT(int (*)(const char*, mode_t), "mkdir")(path, mode);
}
int ftruncate(int fd, off_t size) {
    if (fails("ftruncate"))
        return -1;
    return NEXT(int (*)(int, off_t), "ftruncate")(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    if (fails("ftruncate"))
        return -1;
    return NEXT(int (*)(int, off64_t), "ftruncate64")(fd, size);
}
int fallocate(int fd, int mode, off_t offset, off_t size) {
    if (fails("fallocate"))
        return -1;
    return NEXT(int (*)(int, int, off_t, off_t), "fallocate")(fd, mode, offset, size);
}
