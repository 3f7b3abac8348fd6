#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A zip file whose entries are stored, not compressed, as torch.save writes (PKWARE APPNOTE 6.3):
//
//   { local header | name | extra | data [| descriptor] } ... | central directory
//   | [zip64 end record | zip64 locator |] end record
//
// Sizes are the central directory's; local headers only say where the data begins. Borrows `file`,
// which must outlive it. Thread-safe once built.
class StoredZip {
 public:
  struct Entry {
    std::string_view name;
    uint64_t begin = 0, end = 0;  // from its local header to the end of its data
    Bytes data{};
    uint32_t crc = 0;  // CRC-32 of `data`, not compared here
  };

  // Throws kCorrupt, naming the byte or the entry, on damage, entries that overlap and names that
  // stand twice; kBadData on compressed or encrypted entries.
  explicit StoredZip(Bytes file);

  const std::vector<Entry>& entries() const { return entries_; }  // sorted by name
  const Entry* find(std::string_view name) const;                 // nullptr: none

 private:
  std::vector<Entry> entries_;
};

// Whether `file` begins as a zip file does.
bool is_zip(Bytes file);

}  // namespace berth
