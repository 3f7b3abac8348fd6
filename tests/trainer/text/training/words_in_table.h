#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/text/training/word_counts.h"

namespace berth {

// The words of a table and their counts, in an order that does not depend on how they were added.
inline std::map<std::string, uint64_t> words_in(const ShardedWordTable& table) {
  std::map<std::string, uint64_t> words;
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    const WordTable& shard = table.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      words[std::string(shard.word(entry))] += entry.count;
    }
  }
  return words;
}

// Reads `rows`, `per_block` of them at a time. `rows` must outlive the result.
inline ReadTexts read_rows(const std::vector<std::string>& rows, size_t per_block = 1) {
  return [&rows, per_block, next = size_t{0}](TextBlock& block) mutable {
    block.clear();
    for (size_t i = 0; i < per_block && next < rows.size(); ++i) block.append(rows[next++]);
    return block.rows() > 0;
  };
}

}  // namespace berth
