#include "storage/file_descriptor.h"

#include <cerrno>
#include <system_error>

#include "storage/base/text.h"

namespace berth {

Error file_error(int number, const std::string& action, const std::string& path) {
  const auto refused = [&](Code code, const std::string& what, const std::string& hint) {
    return Error(code, cat("cannot ", action, ": ", what), path, hint);
  };
  switch (number) {
    case ENOENT:
      return Error(Code::kNotFound, "no such file", path,
                   "check the spelling, and in a container that the volume is mounted");
    case ENOTDIR:
      return refused(Code::kNotFound, "a part of the path is a file, not a directory",
                     "correct the path");
    case EISDIR:
      return Error(Code::kBadData, "is a directory", path, "name a file in it");
    case EACCES:
    case EPERM:
      return refused(Code::kNotPermitted, "permission denied",
                     "change the owner or mode, or run as another user");
    case EROFS:
      return refused(Code::kNotPermitted, "the file system is read-only",
                     "name a place that can be written");
    case ENOSPC:
      return refused(Code::kNoSpace, "the disk is full", "free some space or name another disk");
    case EDQUOT:
      return refused(Code::kNoSpace, "the disk quota is used up", "free some space or raise it");
    case EFBIG:
      return refused(Code::kNoSpace, "the file would be larger than is allowed",
                     "raise the file size limit (ulimit -f) or name another disk");
    case ENAMETOOLONG:
      return refused(Code::kUsage, "the name is too long", "choose a shorter one");
    case ELOOP:
      return refused(Code::kBadData, "symbolic links form a loop", "correct the links");
    case ENOMEM:
      return refused(Code::kMemory, "out of memory", "raise the memory limit");
    case EMFILE:
    case ENFILE:
      return refused(Code::kUnavailable, "too many open files", "raise the limit (ulimit -n)");
    default:
      return refused(Code::kUnavailable, std::generic_category().message(number),
                     "try again; if the error persists, check the disk and the system log");
  }
}

}  // namespace berth
