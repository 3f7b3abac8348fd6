#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// One file of tokenized sequences to pre-train on. Numbers are little-endian:
//
//   byte   0  "berthtok"
//          8  u32 version, 1
//         12  u32 bytes of an id: 2, or 4 where the vocabulary has more than 65,536 ids
//         16  u32 checksum of the tokenizer, as its user defines it
//         20  u32 size of the vocabulary; all ids are below
//         24  u32 the most ids in a sequence
//         28  u32 number of this shard, counted from 0
//         32  u32 number of shards
//         36  u32 sequences in this shard
//         40  u64 ids in this shard
//         48  u64 sequences in all shards
//         56  u64 mark of the preparation, the same in all its shards
//         64  u32 CRC-32C of the offsets
//         68  u32 CRC-32C of the ids
//         72  u32 CRC-32C of bytes 0 to 71
//         76  u32 0
//         80  offsets: sequences + 1 u32; sequence i has the ids [offset i, offset i + 1)
//             ids
struct TokenShardInfo {
  uint32_t tokenizer_checksum = 0;
  uint32_t vocab_size = 0;
  uint32_t max_seq_length = 0;
  uint32_t index = 0, count = 1;
  uint64_t total_sequences = 0;
  uint64_t preparation = 0;
  bool operator==(const TokenShardInfo&) const = default;
};

// Whether a file of this name, without a compression suffix, holds a shard: it ends in .tokens.
bool names_token_shard(std::string_view file_name);

// The bytes that each id takes in shards of such a vocabulary: 2 or 4.
size_t token_id_bytes(uint32_t vocab_size);
// Appends an id as shards hold it. `id` is below `vocab_size`.
void append_token_id(int32_t id, uint32_t vocab_size, std::vector<std::byte>& bytes);

// Writes a shard. `lengths` are the numbers of ids of its sequences, each at least 1. `ids` holds
// the sequences one after the other, as append_token_id() makes them, fewer than 2^32 in all. Does
// not close the sink.
void write_token_shard(ByteSink& sink, const TokenShardInfo& info,
                       std::span<const uint32_t> lengths, Bytes ids);

// Reads a shard. `file` must outlive the reader, and need not be aligned. Thread-safe once built.
class TokenShard {
 public:
  // Reads the whole file once. Throws kCorrupt, naming the byte, if it is not a shard, was cut
  // short, or is longer than its header says. Also throws it if a checksum does not match, or if an
  // offset or an id is out of range.
  explicit TokenShard(Bytes file);

  const TokenShardInfo& info() const { return info_; }
  uint32_t sequences() const { return sequences_; }
  uint64_t ids() const { return num_ids_; }
  // The ids of a sequence, as bytes.
  Bytes bytes(uint32_t sequence) const;
  // Replaces `ids` by the ids of a sequence.
  void read(uint32_t sequence, std::vector<int32_t>& ids) const;

 private:
  uint32_t offset(uint32_t sequence) const;
  int32_t id(uint64_t place) const;
  void read_header();
  void check_offsets() const;
  void check_ids() const;

  Bytes file_;
  TokenShardInfo info_;
  uint32_t sequences_ = 0, offsets_crc_ = 0, ids_crc_ = 0;
  uint64_t num_ids_ = 0;
  size_t id_bytes_ = 0;
  Bytes offsets_, ids_;
};

}  // namespace berth
