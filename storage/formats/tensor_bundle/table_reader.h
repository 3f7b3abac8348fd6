#pragma once

#include <functional>
#include <string_view>

#include "storage/base/bytes.h"

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

}  // namespace berth
