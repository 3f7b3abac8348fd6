#pragma once

#include <cstdint>
#include <string>

namespace berth {

// The lowest `bytes` bytes of a number.
inline std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// A stream of Arrow whose column "n" has `rows` nulls, which take no bytes (Schema.fbs and
// Message.fbs). A table of FlatBuffers is written as the sizes of its vtable and of itself, the
// offsets of its fields, the offset back to them, and the fields.
inline std::string null_rows(uint64_t rows) {
  const auto u16 = [](uint64_t value) { return little_endian(value, 2); };
  const auto u32 = [](uint64_t value) { return little_endian(value, 4); };
  const auto u64 = [](uint64_t value) { return little_endian(value, 8); };
  // A message: a version, the type of its header, and the header, which begins `header_offset`
  // bytes behind its field.
  const auto message = [&](uint64_t type, uint64_t header_offset, const std::string& header) {
    const std::string flat = u32(16) + u16(12) + u16(12) + u16(4) + u16(6) + u16(8) + u16(0) +
                             u32(12) + u16(4) + u16(type) + u32(header_offset) + header;
    return u32(0xFFFFFFFF) + u32(flat.size()) + flat;
  };
  const std::string type = u16(4) + u16(4) + u32(4);
  const std::string field = u16(12) + u16(16) + u16(4) + u16(0) + u16(8) + u16(12) + u32(12) +
                            u32(12) + u32(1) + u32(16) + u32(1) + "n" + std::string(3, '\0') + type;
  const std::string schema =
      u16(8) + u16(8) + u16(0) + u16(4) + u32(8) + u32(4) + u32(1) + u32(16) + field;
  const std::string batch = u16(8) + u16(16) + u16(4) + u16(12) + u32(8) + u64(rows) + u32(4) +
                            u32(1) + u64(rows) + u64(rows);
  return message(1, 12, schema) + message(3, 12, batch) + u32(0xFFFFFFFF) + u32(0);
}

}  // namespace berth
