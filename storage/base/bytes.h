#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Identifies one version of one object: a GCS generation, or (inode, size, mtime) hashed locally.
using Generation = uint64_t;

// What is known of a stored object. `name` is its URI.
struct Stat {
  std::string name;
  uint64_t size = 0;
  Generation generation = 0;
  std::optional<uint32_t> crc32c{};
  std::string
      content_encoding{};  // "gzip": the stored bytes are compressed, their name does not say
};

// Bytes addressed by offset. Thread-safe.
class RandomAccessSource {
 public:
  virtual ~RandomAccessSource() = default;
  virtual uint64_t size() const = 0;

  // Fills `buffer` from `offset`. Throws kCorrupt when fewer bytes are there.
  virtual void read_at(uint64_t offset, std::span<std::byte> buffer) = 0;

  // The whole content where it is mapped or in memory, valid as long as this; else nullopt.
  virtual std::optional<Bytes> view() const { return std::nullopt; }
};

// Bytes that arrive in order. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills the front of `buffer`, which is not empty, and returns how many bytes it wrote; 0 only
  // at the end. Throws Error; damage is noticed at the latest by the call that would return 0.
  virtual size_t read(std::span<std::byte> buffer) = 0;

  // All bytes of the object, mapped, where it is a file of this machine; else null.
  virtual std::unique_ptr<RandomAccessSource> map() { return nullptr; }
};

// Bytes that leave in order and appear all at once. Not thread-safe.
//
// A write() or close() that throws kUnavailable has taken its bytes: write({}) or close() goes on
// from there. After any other error the sink is of no more use.
class ByteSink {
 public:
  virtual ~ByteSink() = default;  // Unclosed: nothing appears.

  virtual void write(Bytes bytes) = 0;

  // The same of bytes that stay as they are until the sink is closed or destroyed: it need not copy
  // those that leave later.
  virtual void lend(Bytes bytes) { write(bytes); }

  // Bytes that have left for good: between failures, more of them is progress.
  virtual uint64_t arrived() { return 0; }

  // Publishes what was written. Durable when it returns. At most once.
  virtual Stat close() = 0;
};

// A ByteSource over memory that outlives it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : rest_(bytes) {}
  size_t read(std::span<std::byte> buffer) override;

 private:
  Bytes rest_;
};

// Reads to the end. Throws kMemory with `what` in the sentence when more than `limit_bytes` come.
std::vector<std::byte> read_all(ByteSource& source, uint64_t limit_bytes, const std::string& what);

// Bounds-checked little-endian reading from `bytes`, which outlive it. Everything throws kCorrupt,
// naming the byte offset, when the bytes do not suffice.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }
  bool at_end() const { return remaining() == 0; }

  uint8_t u8() { return fixed<uint8_t>(); }
  uint16_t u16() { return fixed<uint16_t>(); }
  uint32_t u32() { return fixed<uint32_t>(); }
  uint64_t u64() { return fixed<uint64_t>(); }
  uint64_t varint();  // base 128, at most 10 bytes (protobuf, LevelDB)
  Bytes take(uint64_t size);
  void skip(uint64_t size) { take(size); }

  // "byte 17: <what>", as an error of this input.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  template <typename T>
  T fixed();

  Bytes bytes_;
  size_t offset_ = 0;
};

}  // namespace berth
