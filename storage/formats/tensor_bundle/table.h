#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

// LevelDB's sorted tables. The functions are thread-safe; a builder belongs to one thread.
namespace berth {

// A sorted table in LevelDB's format, which TensorFlow uses for a checkpoint's index
// (tensorflow/core/lib/io/format.cc, table_options.h, block_builder.cc):
//
//   data blocks | metaindex block | index block | footer of 48 bytes
//
//   block:  entries | u32 restart offsets | u32 their count || u8 type (0 raw, 1 snappy)
//           | u32 masked crc32c of all before it
//   entry:  varint shared | varint unshared | varint value size | rest of the key | value
//           (the key starts with `shared` bytes of the one before)
//   index:  a block whose values are handles (varint offset, varint size) of the data blocks
//   footer: metaindex handle | index handle | zeros to byte 40 | u64 magic
//
// Calls `visit` for every entry, with ascending keys. Both arguments are valid during the call
// only. Each block's checksum is verified before its first entry is visited. Throws kCorrupt,
// naming the byte of the block, and kMemory above a million entries, 32 MiB of entries or 128 MiB
// of keys.
void read_table(Bytes file, const std::function<void(std::string_view key, Bytes value)>& visit);

constexpr uint64_t kTableMagic = 0xdb4775248b80fb57;
constexpr size_t kTableFooterSize = 48;
constexpr size_t kTableHandlesSize = 40;  // part of the footer: both handles and their padding

// Builds one block of a table: entries | restart offsets | their count.
class TableBlockBuilder {
 public:
  // Every `restart_interval`-th key is stored in full; the others omit the prefix they share with
  // their predecessor.
  explicit TableBlockBuilder(int restart_interval) : restart_interval_(restart_interval) {}

  void add(std::string_view key, Bytes value);  // keys must ascend
  bool empty() const { return bytes_.empty(); }
  size_t size_bytes() const;
  std::vector<std::byte> finish();  // returns the block; the next add() begins a new one

 private:
  int restart_interval_, since_restart_ = 0;
  std::string last_key_;
  std::vector<std::byte> bytes_;
  std::vector<uint32_t> restarts_{0};
};

// Writes a table that read_table() reads, in TensorFlow's layout: uncompressed blocks of 256 KiB, a
// restart point every 16 keys, and shortened keys in the index. Does not close the sink.
class TableWriter {
 public:
  explicit TableWriter(ByteSink& sink) : sink_(sink) {}

  void add(std::string_view key, Bytes value);  // keys must strictly ascend
  void finish();                                // call once, after the last add()

 private:
  std::vector<std::byte> write_block(TableBlockBuilder& block);  // returns the block's handle
  void index_block(std::string_view separator);

  ByteSink& sink_;
  uint64_t offset_ = 0;
  std::string last_key_;
  std::vector<std::byte> handle_;  // of the last block, if it is not in the index yet
  TableBlockBuilder data_{16}, index_{1};
};

}  // namespace berth
