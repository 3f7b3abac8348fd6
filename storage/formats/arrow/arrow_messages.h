#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

// Arrow's messages, and the FlatBuffers of which they are made. FlatTable and FlatVector are
// thread-safe, and Messages is not.
namespace berth::arrow {

class FlatVector;

// A table of FlatBuffers (flatbuffers.dev/internals), read without a schema: the caller knows what
// a field holds. Offsets are relative to where they stand, and each is checked:
//
//   table:  i32 offset back to the vtable | fields
//   vtable: u16 its size | u16 the table's size | u16 offset of each field in the table; 0: absent
//   vector: u32 count | elements. Text is a vector of bytes.
//
// Offsets to tables, vectors and texts only lead forward, so there are no cycles. Two offsets may
// lead to the same table. Borrows the buffer. Every function throws kCorrupt where the buffer is
// damaged.
class FlatTable {
 public:
  // The table at the root of a buffer.
  static FlatTable root(Bytes buffer);

  // The value of a field; `missing` where it is absent.
  template <typename T>
  T number(int field, T missing) const {
    const size_t at = place(field, sizeof(T));
    return at == 0 ? missing : load<T>(at);
  }
  bool boolean(int field) const { return number<uint8_t>(field, 0) != 0; }
  std::optional<FlatTable> table(int field) const;
  std::string_view text(int field) const;  // empty where it is absent
  // `width` is the size of an element in bytes.
  FlatVector vector(int field, size_t width) const;

 private:
  friend class FlatVector;
  FlatTable(Bytes buffer, size_t position);
  template <typename T>
  T load(size_t at) const {
    T value;
    std::memcpy(&value, buffer_.data() + at, sizeof(value));
    return value;
  }
  // Where the field lies; 0: it is absent.
  size_t place(int field, size_t width) const;

  Bytes buffer_;
  size_t position_ = 0, size_ = 0;
  size_t vtable_ = 0, vtable_size_ = 0;
};

// A vector of numbers, structs or tables.
class FlatVector {
 public:
  FlatVector() = default;
  size_t size() const { return count_; }
  // `index` is less than size().
  FlatTable table(size_t index) const;  // of a vector with elements of four bytes
  template <typename T>
  T number(size_t index, size_t offset_in_element = 0) const {
    T value;
    std::memcpy(&value, buffer_.data() + begin_ + index * width_ + offset_in_element,
                sizeof(value));
    return value;
  }

 private:
  friend class FlatTable;
  Bytes buffer_;
  size_t begin_ = 0, count_ = 0, width_ = 0;
};

// The union MessageHeader of Message.fbs.
enum class MessageType : uint8_t { kSchema = 1, kDictionaryBatch = 2, kRecordBatch = 3 };

struct Message {
  MessageType type;
  FlatTable header;      // the table of that type
  size_t metadata_size;  // of the flat buffer that holds it
  Bytes body;
  uint64_t begin, size;  // in the file
};

// The messages of an Arrow file or stream (arrow.apache.org/docs/format/Columnar.html).
//
//   stream:  schema | dictionaries and record batches | -1 i32, 0 i32
//   file:    "ARROW1" 00 00 | stream | footer | i32 its size | "ARROW1"
//   message: -1 i32 (not before version 0.15) | i32 size of the metadata | metadata | body
//
// A file is read as its footer says: all dictionaries, and then the record batches. Borrows the
// bytes. Every function throws kCorrupt where they are damaged, and kBadData where they are of
// another kind.
class Messages {
 public:
  explicit Messages(Bytes file);

  // The table that holds the schema, and the size of the flat buffer around it.
  const FlatTable& schema() const { return *schema_; }
  size_t schema_size() const { return schema_size_; }
  bool is_file() const { return is_file_; }

  // The next dictionary or record batch; nullopt at the end.
  std::optional<Message> next();

 private:
  struct Block {
    uint64_t offset, metadata_size, body_size;
  };
  void open_file();
  void open_stream();
  void add_blocks(const FlatVector& blocks, size_t end);
  // Reads the message at `offset`; nullopt where the stream ends there.
  std::optional<Message> message_at(uint64_t offset) const;

  const Bytes file_;
  bool is_file_ = false;
  std::optional<FlatTable> schema_;
  size_t schema_size_ = 0;
  std::vector<Block> blocks_;  // of a file
  size_t next_block_ = 0;
  uint64_t offset_ = 0;  // of a stream
};

}  // namespace berth::arrow
