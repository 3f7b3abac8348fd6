#include "storage/base/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

static_assert(std::endian::native == std::endian::little,
              "every format here is little-endian, and so is every machine we build for");

size_t MemorySource::read(std::span<std::byte> buffer) {
  const size_t size = std::min(buffer.size(), rest_.size());
  std::copy_n(rest_.begin(), size, buffer.begin());
  rest_ = rest_.subspan(size);
  return size;
}

size_t PeekedSource::read(std::span<std::byte> buffer) {
  if (rest_.empty()) return inner_->read(buffer);
  const size_t count = std::min(buffer.size(), rest_.size());
  std::copy_n(rest_.begin(), count, buffer.begin());
  rest_ = rest_.subspan(count);
  return count;
}

size_t read_fully(ByteSource& source, std::span<std::byte> buffer) {
  size_t filled = 0;
  while (filled < buffer.size()) {
    const size_t count = source.read(buffer.subspan(filled));
    if (count == 0) break;
    filled += count;
  }
  return filled;
}

std::vector<std::byte> read_all(ByteSource& source, uint64_t limit_bytes, const std::string& what) {
  constexpr size_t kStep = size_t{1} << 16;
  std::vector<std::byte> bytes;
  size_t size = 0;
  while (true) {
    if (bytes.size() - size < kStep) bytes.resize(std::max(kStep, bytes.size() * 2));
    const size_t count = source.read(std::span(bytes).subspan(size));
    if (count == 0) break;
    size += count;
    if (size > limit_bytes) {
      throw Error(Code::kMemory, cat("more than ", human_bytes(limit_bytes)), what);
    }
  }
  bytes.resize(size);
  return bytes;
}

template <typename T>
T Cursor::fixed() {
  T value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}
template uint8_t Cursor::fixed();
template uint16_t Cursor::fixed();
template uint32_t Cursor::fixed();
template uint64_t Cursor::fixed();

uint64_t Cursor::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const uint8_t byte = u8();
    if (shift == 63 && byte > 1) fail("a varint that does not fit 64 bits");
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail("a varint of more than 10 bytes");
}

Bytes Cursor::take(uint64_t size) {
  if (size > remaining()) {
    fail(cat("ends early: ", size, " bytes wanted, ", remaining(), " left"));
  }
  const Bytes taken = bytes_.subspan(offset_, size);
  offset_ += size;
  return taken;
}

void Cursor::fail(const std::string& what) const {
  throw Error(Code::kCorrupt, what, cat("byte ", offset_));
}

}  // namespace berth
