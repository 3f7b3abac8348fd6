#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/arrow/flat_buffer.h"

namespace berth::arrow {

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
