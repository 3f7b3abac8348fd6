#pragma once

#include <string>
#include <vector>

#include "storage/base/checksum.h"
#include "tests/support/pickle_text.h"

namespace berth {

// An entry of a zip file that is built by hand, so that its fields can be wrong.
struct ZipEntry {
  std::string name, data;
  uint16_t flags = 0, method = 0;
  uint32_t header = UINT32_MAX;  // a wrong offset of its header; UINT32_MAX: the right one
  uint32_t size = UINT32_MAX;    // a wrong size; UINT32_MAX: the right one
};

inline std::string stored_zip(const std::vector<ZipEntry>& entries) {
  using pickled::little_endian;
  std::string file, directory;
  for (const ZipEntry& entry : entries) {
    const uint32_t crc = crc32(as_bytes(entry.data));
    const uint64_t own_size = entry.data.size();
    const uint64_t size = entry.size == UINT32_MAX ? own_size : entry.size;
    const uint64_t header = entry.header == UINT32_MAX ? file.size() : entry.header;
    const std::string common = little_endian(20, 2) + little_endian(entry.flags, 2) +
                               little_endian(entry.method, 2) + little_endian(0, 4) +
                               little_endian(crc, 4) + little_endian(size, 4) +
                               little_endian(size, 4) + little_endian(entry.name.size(), 2);
    directory += "PK\1\2" + little_endian(20, 2) + common + std::string(12, '\0') +
                 little_endian(header, 4) + entry.name;
    file += "PK\3\4" + common + little_endian(0, 2) + entry.name + entry.data;
  }
  const std::string count = little_endian(entries.size(), 2);
  return file + directory + "PK\5\6" + std::string(4, '\0') + count + count +
         little_endian(directory.size(), 4) + little_endian(file.size(), 4) + std::string(2, '\0');
}

}  // namespace berth
