#pragma once

#include <cstdint>
#include <string_view>

#include "storage/base/bytes.h"

// Thrift's compact protocol, in which Parquet writes its metadata. A reader belongs to one thread.
namespace berth {

// The signed number that a varint holds in zigzag form: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
inline int64_t from_zigzag(uint64_t bits) {
  return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

// The types of Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md). Both values
// of a boolean field are types of their own.
enum class ThriftType : uint8_t {
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

struct ThriftField {
  int32_t id = 0;
  ThriftType type = ThriftType::kTrue;
};

// Reads Thrift's compact protocol from `bytes`, which must outlive it. There is no schema here: the
// caller knows what a struct holds. Every function throws kCorrupt, naming the byte offset, if the
// bytes end too early, or if the value's type is unknown or another one.
class ThriftReader {
 public:
  explicit ThriftReader(Bytes bytes) : cursor_(bytes) {}

  size_t offset() const { return cursor_.offset(); }

  // Reads a struct: calls visit(field) for each of its fields. The visitor reads the field's value
  // and returns true, or returns false, and the value is skipped.
  template <typename Visit>
  void read_struct(const Visit& visit) {
    enter();
    ThriftField field;
    while (next_field(field)) {
      if (!visit(field)) skip(field.type);
    }
    leave();
  }

  // The values of a field, or of an element of a list.
  bool boolean(ThriftField field);
  int64_t integer(ThriftType type);  // of any width
  int32_t int32(ThriftType type);    // throws where the value needs more than 32 bits
  Bytes binary(ThriftType type);
  std::string_view text(ThriftType type) { return as_text(binary(type)); }

  // Calls read(type) for each element of a list, which reads it. Returns their number.
  template <typename Read>
  size_t read_list(ThriftType type, const Read& read) {
    ThriftType element = ThriftType::kStruct;
    const size_t count = list_header(type, element);
    for (size_t i = 0; i < count; ++i) read(element);
    return count;
  }

  void require_struct(ThriftType type);
  [[noreturn]] void fail(const std::string& what) const { cursor_.fail(what); }

 private:
  bool next_field(ThriftField& field);
  size_t list_header(ThriftType type, ThriftType& element);
  void skip(ThriftType type);
  void skip_map();
  void enter();
  void leave() { --depth_; }

  Cursor cursor_;
  int depth_ = 0;
};

}  // namespace berth
