#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

// Checksums of bytes and of streams. The functions are thread-safe; Checksum and the streams around
// others are not. A checksum throws nothing; a stream throws what the inner one throws.
namespace berth {

// The finalizer of SplitMix64 (Steele et al. 2014): every input bit changes every output bit.
constexpr uint64_t mixed_bits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// CRC-32 as zip and gzip use it (reflected polynomial 0xEDB88320, APPNOTE 4.4.7). It uses
// carry-less multiplication if the CPU has it, which reaches 12 GB/s, fast enough to verify
// checkpoints of gigabytes while they are loaded.
//
// Returns the checksum of the bytes that `crc` covers followed by `bytes`; start with 0.
uint32_t crc32(Bytes bytes, uint32_t crc = 0);

// The same checksum from lookup tables alone. crc32() falls back to it on other CPUs.
uint32_t crc32_portable(Bytes bytes, uint32_t crc = 0);

// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, RFC 3720 B.4), computed with the fastest
// instructions that the CPU has for it.
//
// Returns the checksum of the bytes that `crc` covers followed by `bytes`; start with 0.
uint32_t crc32c(Bytes bytes, uint32_t crc = 0);

// Advances the CRC register over `bytes`. The register is the complement of the checksum.
using Crc32cFunction = uint32_t (*)(Bytes bytes, uint32_t register_before);

// The implementations that this CPU can run, fastest first; crc32c() uses the first. The last one
// uses lookup tables and runs everywhere.
std::vector<Crc32cFunction> supported_crc32c();

// Returns the checksum of A followed by B from the checksums of A and of B and the size of B.
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

// The masked form in which TFRecord and TensorBundle store a CRC. A file that contains its own CRCs
// is then checksummed as reliably as any other.
constexpr uint32_t crc32c_mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr uint32_t crc32c_unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

// Like crc32c(), but uses several threads if `bytes` are large enough to gain from it (16 MiB or
// more).
uint32_t parallel_crc32c(Bytes bytes, uint32_t crc = 0);

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

// FNV-1a (Fowler, Noll and Vo 1991): a hash that is the same in every process. Not for texts that
// somebody may choose so that they collide.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace berth
