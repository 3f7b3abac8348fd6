#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace berth {

// All bytes of one object: mapped where they lie on this machine, read into memory where it is not.
class WholeFile {
 public:
  // Throws as Storage::open() does.
  WholeFile(Storage& storage, const Uri& uri);

  Bytes bytes() const { return bytes_; }  // valid as long as this

 private:
  std::unique_ptr<RandomAccessSource> mapped_;
  std::vector<std::byte> read_;
  Bytes bytes_;
};

// A small text object; nullopt when absent. Throws kMemory above 64 MiB.
std::optional<std::string> read_text(Storage& storage, const Uri& uri);

// Replaces a text object.
void write_text(Storage& storage, const Uri& uri, std::string_view text);

}  // namespace berth
