#include "storage/formats/parquet/thrift_compact.h"

#include <limits>

#include "storage/base/text.h"

namespace berth {
namespace {

// Parquet's own structs nest no deeper than six.
constexpr int kDeepestStruct = 32;

ThriftType checked_type(const Cursor& cursor, unsigned bits) {
  if (bits < 1 || bits > 12) cursor.fail(cat("unknown Thrift type ", bits));
  return static_cast<ThriftType>(bits);
}

}  // namespace

void ThriftReader::enter() {
  if (++depth_ > kDeepestStruct) fail("structs nest too deeply");
}

bool ThriftReader::next_field(ThriftField& field) {
  const unsigned header = cursor_.u8();
  if (header == 0) return false;
  field.type = checked_type(cursor_, header & 15);
  const unsigned delta = header >> 4;
  const int64_t id = delta != 0 ? int64_t{field.id} + delta : from_zigzag(cursor_.varint());
  if (id < 0 || id > std::numeric_limits<int16_t>::max()) fail(cat("field ", id));
  field.id = static_cast<int32_t>(id);
  return true;
}

bool ThriftReader::boolean(ThriftField field) {
  if (field.type == ThriftType::kTrue) return true;
  if (field.type != ThriftType::kFalse) fail("a value that is no boolean");
  return false;
}

int64_t ThriftReader::integer(ThriftType type) {
  switch (type) {
    case ThriftType::kByte:
      return static_cast<int8_t>(cursor_.u8());
    case ThriftType::kInt16:
    case ThriftType::kInt32:
    case ThriftType::kInt64:
      return from_zigzag(cursor_.varint());
    default:
      fail("a value that is no integer");
  }
}

int32_t ThriftReader::int32(ThriftType type) {
  const int64_t value = integer(type);
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    fail(cat(value, " needs more than 32 bits"));
  }
  return static_cast<int32_t>(value);
}

Bytes ThriftReader::binary(ThriftType type) {
  if (type != ThriftType::kBinary) fail("a value that is no text");
  return cursor_.take(cursor_.varint());
}

void ThriftReader::require_struct(ThriftType type) {
  if (type != ThriftType::kStruct) fail("a value that is no struct");
}

// Each element takes at least one byte. So the count is limited by the remaining bytes.
size_t ThriftReader::list_header(ThriftType type, ThriftType& element) {
  if (type != ThriftType::kList && type != ThriftType::kSet) fail("a value that is no list");
  const unsigned header = cursor_.u8();
  const uint64_t count = header >> 4 == 15 ? cursor_.varint() : header >> 4;
  if (count > cursor_.remaining()) fail(cat("a list of ", count, " elements"));
  if (count > 0) element = checked_type(cursor_, header & 15);  // fastparquet writes 0 for none
  return static_cast<size_t>(count);
}

void ThriftReader::skip_map() {
  const uint64_t count = cursor_.varint();
  if (count == 0) return;
  if (count > cursor_.remaining()) fail(cat("a map of ", count, " entries"));
  const unsigned types = cursor_.u8();
  const ThriftType key = checked_type(cursor_, types >> 4);
  const ThriftType value = checked_type(cursor_, types & 15);
  for (uint64_t i = 0; i < count; ++i) {
    key <= ThriftType::kFalse ? cursor_.skip(1) : skip(key);
    value <= ThriftType::kFalse ? cursor_.skip(1) : skip(value);
  }
}

void ThriftReader::skip(ThriftType type) {
  switch (type) {
    case ThriftType::kTrue:
    case ThriftType::kFalse:
      return;  // a field's type is its value
    case ThriftType::kByte:
      return cursor_.skip(1);
    case ThriftType::kInt16:
    case ThriftType::kInt32:
    case ThriftType::kInt64:
      cursor_.varint();
      return;
    case ThriftType::kDouble:
      return cursor_.skip(8);
    case ThriftType::kBinary:
      return cursor_.skip(cursor_.varint());
    case ThriftType::kList:
    case ThriftType::kSet:
      enter();
      read_list(type, [&](ThriftType element) {
        element <= ThriftType::kFalse ? cursor_.skip(1) : skip(element);
      });
      return leave();
    case ThriftType::kMap:
      enter();
      skip_map();
      return leave();
    case ThriftType::kStruct:
      return read_struct([](ThriftField) { return false; });
  }
}

}  // namespace berth
