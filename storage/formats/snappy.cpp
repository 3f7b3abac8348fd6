#include "storage/formats/snappy.h"

#include <cstring>

#include "storage/base/text.h"

namespace berth {
namespace {

// Three bytes encode a copy of at most 64 bytes, which bounds the expansion.
constexpr uint64_t kLargestGrowth = 22;

uint64_t little_endian(Cursor& input, int size_bytes) {
  uint64_t value = 0;
  for (int i = 0; i < size_bytes; ++i) value |= uint64_t{input.u8()} << (8 * i);
  return value;
}

// The output, whose size is known, and how much of it is written.
class Output {
 public:
  Output(Cursor& input, uint64_t size) : input_(input), bytes_(size) {}

  void append(Bytes literal) {
    require_room(literal.size());
    std::memcpy(bytes_.data() + written_, literal.data(), literal.size());
    written_ += literal.size();
  }

  // A copy may overlap the bytes that it is producing.
  void copy(uint64_t size, uint64_t offset) {
    if (offset == 0 || offset > written_) {
      input_.fail(cat("a copy from ", offset, " bytes back, where there are ", written_));
    }
    require_room(size);
    std::byte* to = bytes_.data() + written_;
    if (offset >= size) {
      std::memcpy(to, to - offset, size);
    } else {
      for (uint64_t i = 0; i < size; ++i, ++to) *to = *(to - offset);
    }
    written_ += size;
  }

  std::vector<std::byte> take() {
    if (written_ != bytes_.size()) {
      input_.fail(cat("holds ", written_, " of the ", bytes_.size(), " bytes that were announced"));
    }
    return std::move(bytes_);
  }

 private:
  void require_room(uint64_t size) const {
    if (size <= bytes_.size() - written_) return;
    input_.fail(cat("more than the ", bytes_.size(), " bytes that were announced"));
  }

  const Cursor& input_;
  std::vector<std::byte> bytes_;
  size_t written_ = 0;
};

void read_literal(Cursor& input, uint8_t tag, Output& output) {
  constexpr uint64_t kInTag = 60;
  uint64_t size = tag >> 2;
  if (size >= kInTag) size = little_endian(input, static_cast<int>(size - kInTag + 1));
  output.append(input.take(size + 1));
}

void read_copy(Cursor& input, uint8_t tag, Output& output) {
  switch (tag & 3) {
    case 1: {
      const uint64_t offset = uint64_t{tag} >> 5 << 8 | input.u8();
      return output.copy(((tag >> 2) & 7) + 4, offset);
    }
    case 2:
      return output.copy((tag >> 2) + 1, input.u16());
    default:
      return output.copy((tag >> 2) + 1, input.u32());
  }
}

}  // namespace

std::vector<std::byte> snappy_decode(Bytes compressed) {
  Cursor input(compressed);
  const uint64_t size = input.varint();
  if (size > compressed.size() * kLargestGrowth) {
    input.fail(cat(compressed.size(), " bytes that claim to hold ", size));
  }
  Output output(input, size);
  while (!input.at_end()) {
    const uint8_t tag = input.u8();
    (tag & 3) == 0 ? read_literal(input, tag, output) : read_copy(input, tag, output);
  }
  return output.take();
}

}  // namespace berth
