#include "storage/base/protobuf_wire.h"

#include <bit>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

void require(const ProtoField& field, WireType type) {
  if (field.type != type) {
    throw Error(Code::kCorrupt,
                cat("field ", field.number, " has wire type ", static_cast<int>(field.type),
                    ", not ", static_cast<int>(type)),
                cat("byte ", field.offset));
  }
}

}  // namespace

void ProtoWriter::append_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    written_.push_back(static_cast<std::byte>((value & 0x7F) | 0x80));
  }
  written_.push_back(static_cast<std::byte>(value));
}

void ProtoWriter::append_fixed(uint64_t value, int size_bytes) {
  for (int i = 0; i < size_bytes; ++i, value >>= 8) {
    written_.push_back(static_cast<std::byte>(value & 0xFF));
  }
}

void ProtoWriter::key(uint32_t field, WireType type) {
  append_varint(uint64_t{field} << 3 | static_cast<uint64_t>(type));
}

void ProtoWriter::varint(uint32_t field, uint64_t value) {
  key(field, WireType::kVarint);
  append_varint(value);
}

void ProtoWriter::fixed32(uint32_t field, uint32_t value) {
  key(field, WireType::kFixed32);
  append_fixed(value, 4);
}

void ProtoWriter::fixed64(uint32_t field, uint64_t value) {
  key(field, WireType::kFixed64);
  append_fixed(value, 8);
}

void ProtoWriter::float32(uint32_t field, float value) {
  fixed32(field, std::bit_cast<uint32_t>(value));
}

void ProtoWriter::float64(uint32_t field, double value) {
  fixed64(field, std::bit_cast<uint64_t>(value));
}

void ProtoWriter::begin_bytes(uint32_t field, uint64_t size_bytes) {
  key(field, WireType::kLengthDelimited);
  append_varint(size_bytes);
}

void ProtoWriter::bytes(uint32_t field, Bytes value) {
  begin_bytes(field, value.size());
  written_.insert(written_.end(), value.begin(), value.end());
}

uint64_t ProtoField::as_varint() const {
  require(*this, WireType::kVarint);
  return value;
}

uint32_t ProtoField::as_fixed32() const {
  require(*this, WireType::kFixed32);
  return static_cast<uint32_t>(value);
}

uint64_t ProtoField::as_fixed64() const {
  require(*this, WireType::kFixed64);
  return value;
}

float ProtoField::as_float32() const { return std::bit_cast<float>(as_fixed32()); }

double ProtoField::as_float64() const { return std::bit_cast<double>(as_fixed64()); }

Bytes ProtoField::as_bytes() const {
  require(*this, WireType::kLengthDelimited);
  return payload;
}

std::string_view ProtoField::as_text() const { return berth::as_text(as_bytes()); }

bool ProtoReader::next(ProtoField& field) {
  if (cursor_.at_end()) return false;
  field = {};
  field.offset = cursor_.offset();
  const uint64_t key = cursor_.varint();
  const uint64_t number = key >> 3;
  if (number == 0 || number >= uint64_t{1} << 29) cursor_.fail(cat("field number ", number));
  field.number = static_cast<uint32_t>(number);
  field.type = static_cast<WireType>(key & 7);
  switch (field.type) {
    case WireType::kVarint:
      field.value = cursor_.varint();
      return true;
    case WireType::kFixed64:
      field.value = cursor_.u64();
      return true;
    case WireType::kLengthDelimited:
      field.payload = cursor_.take(cursor_.varint());
      return true;
    case WireType::kFixed32:
      field.value = cursor_.u32();
      return true;
  }
  cursor_.fail(cat("wire type ", key & 7, " of field ", number));
}

std::vector<uint64_t> packed_varints(Bytes payload) {
  std::vector<uint64_t> values;
  for (Cursor cursor(payload); !cursor.at_end();) values.push_back(cursor.varint());
  return values;
}

}  // namespace berth
