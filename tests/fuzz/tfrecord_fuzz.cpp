#include <cstring>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/formats/tfrecord.h"

namespace {

void read_all_of(berth::Bytes file) {
  try {
    berth::TfRecordReader reader(std::make_unique<berth::MemorySource>(file));
    for (std::vector<std::byte> record; reader.next(record);) {
    }
  } catch (const berth::Error&) {
  }
}

// Makes the checksums match, so that the code behind them is reached.
void repair(std::vector<std::byte>& file) {
  const auto write_checksum = [&](size_t at, size_t count) {
    if (file.size() - at < count + sizeof(uint32_t)) return false;
    const uint32_t crc = berth::crc32c_mask(berth::crc32c(berth::Bytes(file).subspan(at, count)));
    std::memcpy(file.data() + at + count, &crc, sizeof crc);
    return true;
  };
  for (size_t at = 0;;) {
    if (!write_checksum(at, sizeof(uint64_t))) return;
    uint64_t size;
    std::memcpy(&size, file.data() + at, sizeof size);
    at += sizeof size + sizeof(uint32_t);
    if (size > file.size() || !write_checksum(at, size)) return;
    at += size + sizeof(uint32_t);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const berth::Bytes bytes = std::as_bytes(std::span(data, size));
  read_all_of(bytes);
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  repair(file);
  read_all_of(file);
  return 0;
}
