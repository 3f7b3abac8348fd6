#include <array>

#include "storage/base/error.h"
#include "storage/entry_paths.h"
#include "storage/libarchive_reader.h"

namespace {

// Does what unpack() does without writing files.
void read(berth::LibarchiveReader reader) {
  berth::EntryPaths paths;
  std::array<std::byte, 4096> buffer;
  uint64_t total = 0;
  for (berth::ArchiveEntry entry; reader.next(entry);) {
    paths.add(entry.path, entry.kind == berth::ArchiveEntry::Kind::kDirectory);
    while (const size_t count = reader.read(buffer)) {
      if ((total += count) > (uint64_t{1} << 24)) return;
    }
  }
}

}  // namespace

// The first byte chooses between tar, zip and the decompressors.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const berth::Bytes bytes = std::as_bytes(std::span(data + 1, size - 1));
  berth::MemorySource source(bytes);
  try {
    switch (data[0] % 5) {
      case 0:
        read(berth::LibarchiveReader::tar(source));
        break;
      case 1:
        read(berth::LibarchiveReader::zip(bytes));
        break;
      case 2:
        read(berth::LibarchiveReader::decompressor(source, berth::Compression::kBzip2));
        break;
      case 3:
        read(berth::LibarchiveReader::decompressor(source, berth::Compression::kXz));
        break;
      case 4:
        read(berth::LibarchiveReader::decompressor(source, berth::Compression::kZstd));
        break;
    }
  } catch (const berth::Error&) {
  }
  return 0;
}
