#pragma once

#include <memory>

#include "storage/base/bytes.h"
#include "storage/base/parallel_crc32c.h"

namespace berth {

// The size and CRC-32C of the bytes added so far.
struct Checksum {
  uint64_t size = 0;
  uint32_t crc = 0;

  void add(Bytes bytes) {
    size += bytes.size();
    crc = parallel_crc32c(bytes, crc);
  }
  bool operator==(const Checksum&) const = default;
};

// Adds every byte that is read through it to `checksum`, which must outlive it.
class ChecksumSource final : public ByteSource {
 public:
  ChecksumSource(std::unique_ptr<ByteSource> inner, Checksum& checksum)
      : inner_(std::move(inner)), checksum_(checksum) {}
  size_t read(std::span<std::byte> buffer) override {
    const size_t count = inner_->read(buffer);
    checksum_.add(buffer.first(count));
    return count;
  }
  // The checksum covers what is read as a stream, and not what is read from the mapping.
  std::unique_ptr<RandomAccessSource> map() override { return inner_->map(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  Checksum& checksum_;
};

// Passes every write on to `inner` and adds the bytes to `checksum`. Both must outlive it.
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

// Formats a CRC as manifests and job.json do: eight lower-case hexadecimal digits.
std::string crc_text(uint32_t crc);

}  // namespace berth
