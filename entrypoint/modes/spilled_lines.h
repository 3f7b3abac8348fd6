#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/spill_file.h"

namespace berth {

// Lines that wait in an unnamed file on the local disk (SpillFile) until their number is known and
// they can be written to shards. Memory grows by only 8 bytes for 1,024 lines. Not thread-safe.
class SpilledLines {
 public:
  // `line` has no line feed. Throws what SpillFile throws.
  void append(std::string_view line);
  int64_t size() const { return size_; }

  // Appends line `number`, counted from 0, and a line feed to `bytes`. Reading the lines in their
  // order is quick. Nothing may be appended afterwards.
  void read(int64_t number, std::vector<std::byte>& bytes);

 private:
  static constexpr int64_t kLinesPerOffset = 1024;
  static constexpr size_t kWriteBytes = size_t{1} << 20;

  void flush();
  void seek(int64_t number);
  std::string_view next();

  SpillFile file_;
  int64_t size_ = 0;
  std::string pending_;            // the end of the lines, not in the file yet
  std::vector<uint64_t> offsets_;  // of every kLinesPerOffset-th line

  int64_t next_ = 0;    // the line at window_[at_]
  std::string window_;  // a part of the file
  size_t at_ = 0;
  uint64_t window_end_ = 0;  // where the window ends in the file
};

}  // namespace berth
