#include "storage/formats/tensor_bundle/snappy.h"

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

void append_literal(Cursor& input, uint8_t tag, std::vector<std::byte>& output) {
  constexpr uint64_t kInTag = 60;
  uint64_t size = tag >> 2;
  if (size >= kInTag) size = little_endian(input, static_cast<int>(size - kInTag + 1));
  const Bytes literal = input.take(size + 1);
  output.insert(output.end(), literal.begin(), literal.end());
}

// A copy may overlap the bytes that it is producing.
void append_copy(Cursor& input, uint8_t tag, std::vector<std::byte>& output) {
  uint64_t size = (tag >> 2) + 1, offset = 0;
  switch (tag & 3) {
    case 1:
      size = ((tag >> 2) & 7) + 4;
      offset = uint64_t{tag} >> 5 << 8 | input.u8();
      break;
    case 2:
      offset = input.u16();
      break;
    default:
      offset = input.u32();
  }
  if (offset == 0 || offset > output.size()) {
    input.fail(cat("a copy from ", offset, " bytes back, where there are ", output.size()));
  }
  for (uint64_t i = 0; i < size; ++i) output.push_back(output[output.size() - offset]);
}

}  // namespace

std::vector<std::byte> snappy_decode(Bytes compressed) {
  Cursor input(compressed);
  const uint64_t size = input.varint();
  if (size > compressed.size() * kLargestGrowth) {
    input.fail(cat(compressed.size(), " bytes that claim to hold ", size));
  }
  std::vector<std::byte> output;
  output.reserve(size);
  while (!input.at_end()) {
    const uint8_t tag = input.u8();
    (tag & 3) == 0 ? append_literal(input, tag, output) : append_copy(input, tag, output);
    if (output.size() > size) input.fail(cat("more than the ", size, " bytes that were announced"));
  }
  if (output.size() != size) {
    input.fail(cat("holds ", output.size(), " of the ", size, " bytes that were announced"));
  }
  return output;
}

}  // namespace berth
