#pragma once

#include <cstdint>
#include <span>

#include "storage/base/bytes.h"

namespace berth {

// An unnamed temporary file in TMPDIR for data that do not fit in memory. It disappears with this
// object. read_at() is thread-safe, append() is not.
class SpillFile {
 public:
  // Throws kNotPermitted, naming the directory, if no file can be created there.
  SpillFile();
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Throws kNoSpace if the disk is full, and kUnavailable on any other failure.
  void append(Bytes bytes);
  uint64_t size() const { return size_; }

  // Fills all of `buffer` with bytes that were appended before. Throws kUnavailable.
  void read_at(uint64_t offset, std::span<std::byte> buffer) const;

  // Maps all that was appended. The bytes stay valid as long as this object. Called once, after the
  // last append(). Throws kMemory.
  Bytes map();

 private:
  int file_;
  uint64_t size_ = 0;
  Bytes mapping_;
};

}  // namespace berth
