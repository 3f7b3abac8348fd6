#pragma once

#include <memory>

#include "storage/base/bytes.h"
#include "storage/base/parallel_crc32c.h"

namespace berth {

// What went by: size and CRC-32C.
struct Checksum {
  uint64_t size = 0;
  uint32_t crc = 0;

  void add(Bytes bytes) {
    size += bytes.size();
    crc = parallel_crc32c(bytes, crc);
  }
  bool operator==(const Checksum&) const = default;
};

// Counts what is read through it into `checksum`, which outlives it.
class ChecksumSource final : public ByteSource {
 public:
  ChecksumSource(std::unique_ptr<ByteSource> inner, Checksum& checksum)
      : inner_(std::move(inner)), checksum_(checksum) {}
  size_t read(std::span<std::byte> buffer) override {
    const size_t count = inner_->read(buffer);
    checksum_.add(buffer.first(count));
    return count;
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  Checksum& checksum_;
};

// Counts what is written through it to `inner` into `checksum`; both outlive it.
class ChecksumSink final : public ByteSink {
 public:
  ChecksumSink(ByteSink& inner, Checksum& checksum) : inner_(inner), checksum_(checksum) {}
  void write(Bytes bytes) override {
    inner_.write(bytes);
    checksum_.add(bytes);
  }
  void lend(Bytes bytes) override {
    inner_.lend(bytes);
    checksum_.add(bytes);
  }
  Stat close() override { return inner_.close(); }

 private:
  ByteSink& inner_;
  Checksum& checksum_;
};

// As manifests and job.json spell a CRC: eight lower-case hexadecimal digits.
std::string crc_text(uint32_t crc);

}  // namespace berth
