#include "storage/formats/parquet/thrift_writer.h"

#include <cassert>

namespace berth {

void ThriftWriter::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) written_.push_back(static_cast<char>(value | 0x80));
  written_.push_back(static_cast<char>(value));
}

void ThriftWriter::zigzag(int64_t value) {
  varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

void ThriftWriter::field(int32_t id, ThriftType type) {
  const int32_t delta = id - last_ids_.back();
  assert(delta >= 1 && delta <= 15);  // Parquet's structs need no other form
  last_ids_.back() = id;
  written_.push_back(static_cast<char>((delta << 4) | static_cast<int32_t>(type)));
}

void ThriftWriter::number(int32_t id, ThriftType type, int64_t value) {
  field(id, type);
  zigzag(value);
}

void ThriftWriter::text(int32_t id, std::string_view value) {
  field(id, ThriftType::kBinary);
  element(value);
}

void ThriftWriter::element(std::string_view value) {
  varint(value.size());
  written_.append(value);
}

void ThriftWriter::list_header(ThriftType element, size_t count) {
  const auto type = static_cast<size_t>(element);
  if (count < 15) return written_.push_back(static_cast<char>((count << 4) | type));
  written_.push_back(static_cast<char>(0xF0 | type));
  varint(count);
}

}  // namespace berth
