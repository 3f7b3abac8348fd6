// A library for LD_PRELOAD that makes one system call fail, as a full or broken disk would.
// tests/jobs/faults.sh runs jobs under it. Only calls on files below one directory count. Every
// such call is written to a log, so that a run without a fault tells how many there are.
//
//   FAILING_BELOW  the directory, an absolute path without a slash at its end
//   FAILING_LOG    the file to which each call is appended, as "KIND NUMBER PATH"
//   FAILING_KIND   look (open for reading), read, open (for writing), write, sync, rename, make,
//                  reserve, remove, close
//   FAILING_AT     which call of that kind fails, counted from 1 (0: none)
//   FAILING_UNTIL  the last one that fails (default: FAILING_AT)
//   FAILING_WITH   EIO, ENOSPC, EDQUOT, EINTR, ENOMEM, EROFS, or "short": half of the bytes are
//                  written or read
//
// glibc's own calls, such as those of fopen(), do not pass through here; libstdc++'s streams do.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum Kind { kLook, kOpen, kRead, kWrite, kSync, kRename, kMake, kReserve, kRemove, kClose, kKinds };

constexpr const char* kNames[kKinds] = {"look",   "open", "read",    "write",  "sync",
                                        "rename", "make", "reserve", "remove", "close"};

struct Fault {
  const char* below = std::getenv("FAILING_BELOW");
  int log = -1;
  int kind = kKinds;
  long first = 0, last = 0;
  int error = 0;
  bool is_short = false;

  Fault() {
    const auto text = [](const char* name) {
      const char* value = std::getenv(name);
      return value == nullptr ? "" : value;
    };
    for (int i = 0; i < kKinds; ++i) {
      if (std::strcmp(text("FAILING_KIND"), kNames[i]) == 0) kind = i;
    }
    first = std::atol(text("FAILING_AT"));
    last = *text("FAILING_UNTIL") == '\0' ? first : std::atol(text("FAILING_UNTIL"));
    const char* with = text("FAILING_WITH");
    is_short = std::strcmp(with, "short") == 0;
    const struct {
      const char* name;
      int number;
    } errors[] = {{"EIO", EIO},     {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT},
                  {"EINTR", EINTR}, {"ENOMEM", ENOMEM}, {"EROFS", EROFS}};
    for (const auto& [name, number] : errors) {
      if (std::strcmp(with, name) == 0) error = number;
    }
    log = static_cast<int>(syscall(SYS_openat, AT_FDCWD, text("FAILING_LOG"),
                                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  }
};

std::atomic<long> counts[kKinds];

Fault& fault() {
  static Fault made;
  return made;
}

bool is_below(const char* path) {
  const char* below = fault().below;
  if (below == nullptr || path == nullptr) return false;
  const size_t length = std::strlen(below);
  return std::strncmp(path, below, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// Counts a call of `kind` on `path`. Returns whether it is to fail.
bool fails(Kind kind, const char* path) {
  if (!is_below(path)) return false;
  Fault& what = fault();
  const long number = ++counts[kind];
  const bool now = kind == what.kind && number >= what.first && number <= what.last;
  char line[4400];
  const int size = std::snprintf(line, sizeof line, "%s %ld %s%s\n", kNames[kind], number, path,
                                 now ? " failed" : "");
  syscall(SYS_write, what.log, line, static_cast<size_t>(size));
  if (now) errno = what.error;
  return now;
}

bool fails(Kind kind, int fd) {
  if (fault().below == nullptr) return false;
  const int error = errno;
  char link[40], path[4200];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  errno = error;
  if (size < 0) return false;
  path[size] = '\0';
  return fails(kind, path);
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

Kind kind_of(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT)) == 0 ? kLook : kOpen; }

// A short read or write takes half of the bytes, but at least one: none would mean the end.
size_t size_under_fault(size_t size) { return size < 2 ? size : size / 2; }

}  // namespace

// NEXT(NAME, TYPE) is the function that would be called without this library.
#define NEXT(name, type) static auto* const following = next<type>(#name)

#define DEFINE_OPEN(name)                                                   \
  int name(const char* path, int flags, ...) {                              \
    va_list rest;                                                           \
    va_start(rest, flags);                                                  \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;  \
    va_end(rest);                                                           \
    NEXT(name, int(const char*, int, ...));                                 \
    return fails(kind_of(flags), path) ? -1 : following(path, flags, mode); \
  }

#define DEFINE_OPENAT(name)                                                     \
  int name(int at, const char* path, int flags, ...) {                          \
    va_list rest;                                                               \
    va_start(rest, flags);                                                      \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;      \
    va_end(rest);                                                               \
    NEXT(name, int(int, const char*, int, ...));                                \
    return fails(kind_of(flags), path) ? -1 : following(at, path, flags, mode); \
  }

// Calls that transfer SIZE bytes of BUFFER.
#define DEFINE_TRANSFER(kind, name, buffer_type)          \
  ssize_t name(int fd, buffer_type buffer, size_t size) { \
    NEXT(name, ssize_t(int, buffer_type, size_t));        \
    if (fails(kind, fd)) {                                \
      if (!fault().is_short) return -1;                   \
      size = size_under_fault(size);                      \
    }                                                     \
    return following(fd, buffer, size);                   \
  }

#define DEFINE_TRANSFER_AT(kind, name, buffer_type)                     \
  ssize_t name(int fd, buffer_type buffer, size_t size, off_t offset) { \
    NEXT(name, ssize_t(int, buffer_type, size_t, off_t));               \
    if (fails(kind, fd)) {                                              \
      if (!fault().is_short) return -1;                                 \
      size = size_under_fault(size);                                    \
    }                                                                   \
    return following(fd, buffer, size, offset);                         \
  }

extern "C" {

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_TRANSFER(kWrite, write, const void*)
DEFINE_TRANSFER_AT(kWrite, pwrite, const void*)
DEFINE_TRANSFER_AT(kWrite, pwrite64, const void*)
DEFINE_TRANSFER(kRead, read, void*)
DEFINE_TRANSFER_AT(kRead, pread, void*)
DEFINE_TRANSFER_AT(kRead, pread64, void*)

ssize_t writev(int fd, const iovec* parts, int count) {
  NEXT(writev, ssize_t(int, const iovec*, int));
  if (!fails(kWrite, fd)) return following(fd, parts, count);
  return fault().is_short && count > 0 ? write(fd, parts[0].iov_base, parts[0].iov_len) : -1;
}

int fsync(int fd) {
  NEXT(fsync, int(int));
  return fails(kSync, fd) ? -1 : following(fd);
}

int fdatasync(int fd) {
  NEXT(fdatasync, int(int));
  return fails(kSync, fd) ? -1 : following(fd);
}

int rename(const char* from, const char* to) {
  NEXT(rename, int(const char*, const char*));
  return fails(kRename, to) ? -1 : following(from, to);
}

int renameat(int from_at, const char* from, int to_at, const char* to) {
  NEXT(renameat, int(int, const char*, int, const char*));
  return fails(kRename, to) ? -1 : following(from_at, from, to_at, to);
}

int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  NEXT(renameat2, int(int, const char*, int, const char*, unsigned));
  return fails(kRename, to) ? -1 : following(from_at, from, to_at, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir, int(const char*, mode_t));
  return fails(kMake, path) ? -1 : following(path, mode);
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  NEXT(fallocate, int(int, int, off_t, off_t));
  return fails(kReserve, fd) ? -1 : following(fd, mode, offset, size);
}

int ftruncate(int fd, off_t size) {
  NEXT(ftruncate, int(int, off_t));
  return fails(kReserve, fd) ? -1 : following(fd, size);
}

int unlink(const char* path) {
  NEXT(unlink, int(const char*));
  return fails(kRemove, path) ? -1 : following(path);
}

int rmdir(const char* path) {
  NEXT(rmdir, int(const char*));
  return fails(kRemove, path) ? -1 : following(path);
}

// Linux closes a file even where close() fails.
int close(int fd) {
  NEXT(close, int(int));
  const bool failed = fails(kClose, fd);
  const int error = errno;
  const int result = following(fd);
  if (!failed) return result;
  errno = error;
  return -1;
}

}  // extern "C"
