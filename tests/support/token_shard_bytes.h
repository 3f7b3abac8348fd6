#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/token_shard.h"

namespace berth {

using TokenSequences = std::vector<std::vector<int32_t>>;

// The bytes of a shard that holds `sequences`.
inline std::vector<std::byte> token_shard_bytes(const TokenShardInfo& info,
                                                const TokenSequences& sequences) {
  std::vector<uint32_t> lengths;
  std::vector<std::byte> ids;
  for (const auto& sequence : sequences) {
    lengths.push_back(static_cast<uint32_t>(sequence.size()));
    for (const int32_t id : sequence) append_token_id(id, info.vocab_size, ids);
  }
  MemorySink sink;
  write_token_shard(sink, info, lengths, ids);
  return sink.written;
}

// Three shards of one preparation: sequences {1, 2}, {3} | {4, 5, 6} | {7}, {8}.
inline std::vector<std::vector<std::byte>> three_token_shards(uint64_t preparation = 5,
                                                              uint32_t tokenizer = 17) {
  const std::vector<TokenSequences> parts = {{{1, 2}, {3}}, {{4, 5, 6}}, {{7}, {8}}};
  std::vector<std::vector<std::byte>> files;
  for (uint32_t i = 0; i < 3; ++i) {
    files.push_back(token_shard_bytes({.tokenizer_checksum = tokenizer,
                                       .vocab_size = 30,
                                       .max_seq_length = 3,
                                       .index = i,
                                       .count = 3,
                                       .total_sequences = 5,
                                       .preparation = preparation},
                                      parts[i]));
  }
  return files;
}

}  // namespace berth
