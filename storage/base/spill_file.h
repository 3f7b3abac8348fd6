#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "storage/base/bytes.h"

namespace berth {

// Lets the system take back the pages of a mapped file that hold [offset, offset + size). The range
// may reach beyond the mapping's end. The page that holds the next byte after the range stays.
// Pages shortly before the range go, too, so no page stays behind when one range after the other is
// released. A page that is used again is read from the file again.
void release_pages(Bytes mapping, uint64_t offset, uint64_t size);

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

// Copies a stream into an unnamed temporary file in TMPDIR, for formats that are not read from the
// beginning to the end. The result has a view(). Throws what SpillFile and the stream throw.
std::unique_ptr<RandomAccessSource> spill(ByteSource& source);

}  // namespace berth
