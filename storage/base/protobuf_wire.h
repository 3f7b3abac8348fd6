#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding). A message is a
// sequence of fields, each with a varint key (number << 3 | wire type) and a payload. There is no
// schema here; the caller knows the message type.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// Builds one message, with its fields in the order of the calls. A nested message is built with a
// writer of its own and then added.
class ProtoWriter {
 public:
  void varint(uint32_t field, uint64_t value);
  void int64(uint32_t field, int64_t value) { varint(field, static_cast<uint64_t>(value)); }
  void fixed32(uint32_t field, uint32_t value);
  void fixed64(uint32_t field, uint64_t value);
  void float32(uint32_t field, float value);
  void float64(uint32_t field, double value);
  void bytes(uint32_t field, Bytes value);
  void text(uint32_t field, std::string_view value) { bytes(field, as_bytes(value)); }
  void message(uint32_t field, const ProtoWriter& value) { bytes(field, value.written()); }
  // Begins a field of bytes, text or a message, whose `size_bytes` bytes the caller puts behind
  // what is written here. It is for values that are too large to be copied.
  void begin_bytes(uint32_t field, uint64_t size_bytes);

  const std::vector<std::byte>& written() const { return written_; }
  std::vector<std::byte> take() { return std::move(written_); }

 private:
  void key(uint32_t field, WireType type);
  void append_varint(uint64_t value);
  void append_fixed(uint64_t value, int size_bytes);

  std::vector<std::byte> written_;
};

// One field of a message. A kLengthDelimited field has its bytes in `payload`, borrowed from the
// message. The other wire types have their bits in `value`.
struct ProtoField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;
  Bytes payload;
  size_t offset = 0;  // of the key, within the message

  // Return the value. Throw kCorrupt, naming the field, if it has a different wire type.
  uint64_t as_varint() const;
  int64_t as_int64() const { return static_cast<int64_t>(as_varint()); }
  uint32_t as_fixed32() const;
  uint64_t as_fixed64() const;
  float as_float32() const;
  double as_float64() const;
  Bytes as_bytes() const;
  std::string_view as_text() const;
};

// Reads the fields of `message`, which must outlive the reader, in order. The caller skips fields
// that it does not know. Throws kCorrupt, naming the byte offset, on groups, on field number 0, and
// on a truncated message.
class ProtoReader {
 public:
  explicit ProtoReader(Bytes message) : cursor_(message) {}

  // Reads the next field; returns false at the end.
  bool next(ProtoField& field);

 private:
  Cursor cursor_;
};

// Calls visit(field) for each field of `message`, in order.
template <typename Visit>
void for_each_field(Bytes message, const Visit& visit) {
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) visit(field);
}

// Returns the elements of a packed repeated varint field.
std::vector<uint64_t> packed_varints(Bytes payload);

}  // namespace berth
