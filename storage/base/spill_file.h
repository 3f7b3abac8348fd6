#pragma once

#include <cstdint>
#include <span>

#include "storage/base/bytes.h"

namespace berth {

// A file without a name where TMPDIR says, gone with this, for what memory is too small for.
// Reading is thread-safe, appending not.
class SpillFile {
 public:
  // Throws kNotPermitted, naming the directory.
  SpillFile();
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Throws kNoSpace on a full disk, kUnavailable else.
  void append(Bytes bytes);
  uint64_t size() const { return size_; }

  // Fills `buffer` from `offset`; all of it was appended. Throws kUnavailable.
  void read_at(uint64_t offset, std::span<std::byte> buffer) const;

 private:
  int file_;
  uint64_t size_ = 0;
};

}  // namespace berth
