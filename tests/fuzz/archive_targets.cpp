#include <array>

#include "storage/archive.h"
#include "storage/gzip_stream.h"
#include "storage/libarchive_reader.h"
#include "tests/fuzz/fuzz_target.h"

namespace berth {
namespace {

void gzip(Bytes input) {
  may_refuse([&] {
    const auto source = gunzip(std::make_unique<MemorySource>(input));
    std::array<std::byte, 4096> buffer;
    while (source->read(buffer) > 0) {
    }
  });
}

// Does what unpack() does without writing files.
void read_entries(LibarchiveReader reader) {
  EntryPaths paths;
  std::array<std::byte, 4096> buffer;
  uint64_t total = 0;
  for (ArchiveEntry entry; reader.next(entry);) {
    paths.add(entry.path, entry.kind == ArchiveEntry::Kind::kDirectory);
    while (const size_t count = reader.read(buffer)) {
      if ((total += count) > (uint64_t{1} << 24)) return;
    }
  }
}

void read_archive(uint8_t kind, Bytes bytes) {
  MemorySource source(bytes);
  switch (kind % 5) {
    case 0:
      return read_entries(LibarchiveReader::tar(source));
    case 1:
      return read_entries(LibarchiveReader::zip(bytes));
    case 2:
      return read_entries(LibarchiveReader::decompressor(source, Compression::kBzip2));
    case 3:
      return read_entries(LibarchiveReader::decompressor(source, Compression::kXz));
    case 4:
      return read_entries(LibarchiveReader::decompressor(source, Compression::kZstd));
  }
}

void archive(Bytes input) {
  may_refuse([&] { read_chosen(input, read_archive); });
}

const FuzzTargets kArchiveTargets = {{"archive", archive}, {"gzip", gzip}};

}  // namespace
}  // namespace berth
