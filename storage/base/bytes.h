#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Appends the bytes of a number as they lie in memory.
template <typename T>
void append_value(std::vector<std::byte>& bytes, T value) {
  const auto raw = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

// Identifies one version of one object. In Google Cloud Storage it is the object's generation; for
// a local file it is a hash of (inode, size, mtime).
using Generation = uint64_t;

// The metadata of a stored object. `name` is its URI.
struct Stat {
  std::string name;
  uint64_t size = 0;
  Generation generation = 0;
  std::optional<uint32_t> crc32c{};
  std::string content_encoding{};  // "gzip": stored compressed, whatever the name says
  // The time of the last change by the server's clock, in seconds since 1970, if the server reports
  // it.
  std::optional<double> updated_s{};
};

// Bytes addressed by offset. Thread-safe.
class RandomAccessSource {
 public:
  virtual ~RandomAccessSource() = default;
  virtual uint64_t size() const = 0;

  // Fills all of `buffer` with the bytes at `offset`. Throws kCorrupt if the source ends before
  // that.
  virtual void read_at(uint64_t offset, std::span<std::byte> buffer) = 0;

  // The whole content, if it is memory-mapped or in memory; it stays valid as long as this object.
  // Returns nullopt otherwise.
  virtual std::optional<Bytes> view() const { return std::nullopt; }

  // Says that these bytes will hardly be read again, so that they need not stay in memory.
  virtual void release(uint64_t /*offset*/, uint64_t /*size*/) {}
};

// A stream of bytes to read. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads up to buffer.size() bytes and returns how many it read; `buffer` must not be empty.
  // Returns 0 only at the end of the stream. Throws Error. If a source verifies its content, damage
  // makes it throw before it returns 0.
  virtual size_t read(std::span<std::byte> buffer) = 0;

  // If the stream is a whole file on this machine, maps that file into memory; otherwise returns
  // null.
  virtual std::unique_ptr<RandomAccessSource> map() { return nullptr; }
};

// A stream of bytes to write. The object appears as a whole when close() returns. Not thread-safe.
//
// write() and close() keep the bytes they were given even if they throw kUnavailable. To retry,
// call write({}) or close(), without passing those bytes again. After any other error the sink is
// unusable.
class ByteSink {
 public:
  virtual ~ByteSink() = default;  // Without close(), no object appears.

  virtual void write(Bytes bytes) = 0;

  // Like write(), but the caller promises that `bytes` stay valid and unchanged until the sink is
  // closed or destroyed. The sink may then send them later without copying them.
  virtual void lend(Bytes bytes) { write(bytes); }

  // The number of bytes that the far side has confirmed. A retry policy compares it between
  // failures: if it grew, the upload made progress.
  virtual uint64_t arrived() { return 0; }

  // Publishes the object and returns its metadata. The object is durable when this returns.
  // Succeeds at most once.
  virtual Stat close() = 0;
};

// A ByteSource over `bytes`, which must outlive it.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(Bytes bytes) : rest_(bytes) {}
  size_t read(std::span<std::byte> buffer) override;

 private:
  Bytes rest_;
};

// Fills `buffer` from `source`. Returns the number of bytes, which is less only at the end of the
// source.
size_t read_fully(ByteSource& source, std::span<std::byte> buffer);

// A source whose beginning can be looked at before it is read.
class PeekedSource final : public ByteSource {
 public:
  // The beginning has at most `size` bytes.
  explicit PeekedSource(std::unique_ptr<ByteSource> inner, size_t size = size_t{16} << 10)
      : inner_(std::move(inner)), stored_(size) {
    rest_ = Bytes(stored_).first(read_fully(*inner_, stored_));
  }

  std::string_view beginning() const { return as_text(rest_); }
  size_t read(std::span<std::byte> buffer) override;
  std::unique_ptr<RandomAccessSource> map() override { return inner_->map(); }

 private:
  const std::unique_ptr<ByteSource> inner_;
  std::vector<std::byte> stored_;
  Bytes rest_;  // of the stored bytes
};

// Reads `source` to its end. Throws kMemory, naming `what`, if more than `limit_bytes` arrive.
std::vector<std::byte> read_all(ByteSource& source, uint64_t limit_bytes, const std::string& what);

// Bounds-checked little-endian reader over `bytes`, which must outlive it. Every function throws
// kCorrupt, naming the byte offset, if too few bytes are left.
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

  // Throws kCorrupt with the message "byte 17: <what>", where 17 is the current offset.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  template <typename T>
  T fixed();

  Bytes bytes_;
  size_t offset_ = 0;
};

// A ByteSink that keeps everything in memory.
class MemorySink final : public ByteSink {
 public:
  void write(Bytes bytes) override { written.insert(written.end(), bytes.begin(), bytes.end()); }
  Stat close() override { return {.name = "memory", .size = written.size(), .crc32c = {}}; }

  std::vector<std::byte> written;
};

}  // namespace berth
