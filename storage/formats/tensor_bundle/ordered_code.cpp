#include "storage/formats/tensor_bundle/ordered_code.h"

namespace berth {
namespace {

void append_number(std::string& key, uint64_t value) {
  std::string bytes;
  for (; value != 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value & 0xFF));
  key += static_cast<char>(bytes.size());
  key += bytes;
}

void append_text(std::string& key, std::string_view text) {
  for (const char c : text) {
    key += c;
    if (c == '\0') key += '\xFF';
    if (c == '\xFF') key += '\0';
  }
  key += '\0';
  key += '\1';
}

void append_signed(std::string& key, int64_t value) {
  constexpr int kLongest = 10;
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  int size = 1;
  while (size < kLongest && (magnitude >> (7 * size - 1)) != 0) {
    if (7 * ++size - 1 >= 64) break;  // this many bytes hold any 64-bit value
  }
  for (int i = 0; i < size; ++i) {
    const int shift = 8 * (size - 1 - i);
    const auto byte = static_cast<uint8_t>(shift >= 64 ? (value < 0 ? 0xFF : 0) : value >> shift);
    const int inverted = size - 8 * i;  // number of leading bits to invert in this byte
    const uint8_t mask = inverted >= 8  ? 0xFF
                         : inverted > 0 ? static_cast<uint8_t>(0xFF << (8 - inverted))
                                        : 0;
    key += static_cast<char>(byte ^ mask);
  }
}

}  // namespace

std::string slice_key(std::string_view name, const TensorSlice& slice) {
  std::string key;
  append_number(key, 0);
  append_text(key, name);
  append_number(key, slice.size());
  for (const SliceExtent& extent : slice) {
    append_signed(key, extent.start);
    append_signed(key, extent.length.value_or(-1));
  }
  return key;
}

}  // namespace berth
