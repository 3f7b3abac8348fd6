#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A zip file whose entries are stored or deflated, as torch.save and numpy.savez write them (PKWARE
// APPNOTE 6.3):
//
//   { local header | name | extra | data [| descriptor] } ... | central directory
//     | [zip64 end record | zip64 locator |] end record
//
// Sizes are taken from the central directory; local headers only say where the data begin. `file`
// must outlive this object. Thread-safe once built.
class ZipFile {
 public:
  struct Entry {
    std::string_view name;
    uint64_t begin = 0, end = 0;  // from the local header to the end of the data
    Bytes data{};                 // as it lies in the file
    uint64_t size = 0;            // of the unpacked data
    bool is_deflated = false;
    uint32_t crc = 0;  // CRC-32 of the unpacked data; ZipFile does not compare it
  };

  // Throws kCorrupt, naming the byte or the entry, on damage, overlapping entries and duplicate
  // names. Throws kBadData on encrypted entries and on entries of another compression.
  explicit ZipFile(Bytes file);

  const std::vector<Entry>& entries() const { return entries_; }  // sorted by name
  const Entry* find(std::string_view name) const;                 // nullptr if there is none

 private:
  std::vector<Entry> entries_;
};

// Whether `file` begins with a zip file's signature.
bool is_zip(Bytes file);

// The bytes of `file` from `offset` on, as a stream. `file` must have a view() and outlive the
// stream. What was read is released.
std::unique_ptr<ByteSource> open_range(RandomAccessSource& file, uint64_t offset, uint64_t size);

// The unpacked data of an entry of a ZipFile over file.view(), as a stream. It throws kCorrupt
// where the data are damaged, have another size than the directory says, or, at their end, another
// CRC-32.
std::unique_ptr<ByteSource> open_entry(RandomAccessSource& file, const ZipFile::Entry& entry);

}  // namespace berth
