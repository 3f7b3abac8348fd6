#include "trainer/text/training/word_counts.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/background.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

// The blocks of one round. Blocks that are not in use keep their memory for the next round.
struct Round {
  std::vector<TextBlock> blocks;
  size_t used = 0;

  void fill(const ReadTexts& read, size_t most_bytes) {
    size_t bytes = 0;
    for (used = 0; bytes < most_bytes; ++used) {
      if (used == blocks.size()) blocks.emplace_back();
      blocks[used].clear();
      if (!read(blocks[used])) return;
      bytes += blocks[used].bytes.size();
    }
  }
};

// What one thread has counted in a round.
struct Counted {
  ShardedWordTable words;
  TextStatistics statistics;
};

// Copies `row` with U+FFFD for every malformed sequence, and returns how many there were.
uint64_t replace_malformed(std::string_view row, std::string& copy) {
  uint64_t malformed = 0;
  copy.clear();
  while (!row.empty()) {
    const DecodedCharacter next = decode_utf8(row);
    char bytes[4];
    const std::string_view proper(bytes, encode_utf8(next.code_point, bytes));
    if (row.substr(0, next.size_bytes) != proper) ++malformed;
    copy += proper;
    row.remove_prefix(next.size_bytes);
  }
  return malformed;
}

void count_block(const TextBlock& block, const TrainingWords& words, Counted& counted) {
  std::string copy;
  for (size_t i = 0; i < block.rows(); ++i) {
    std::string_view row = block.row(i);
    if (!is_valid_utf8(row)) {
      counted.statistics.malformed += replace_malformed(row, copy);
      row = copy;
    }
    counted.statistics.long_words += words.add(row, counted.words);
  }
  counted.statistics.rows += block.rows();
  counted.statistics.bytes += block.bytes.size();
}

void move_shard(std::vector<Counted>& counted, size_t shard, ShardedWordTable& total) {
  for (Counted& part : counted) {
    WordTable& from = part.words.shard(shard);
    for (const WordTable::Entry& entry : from.entries()) {
      total.shard(shard).add(from.word(entry), entry.hash, entry.count);
    }
    from.clear();
  }
}

// Returns the smallest count such that the words that occur more often fill at most half of the
// limits.
uint64_t count_to_remove(const ShardedWordTable& words, const WordCountLimits& limits) {
  struct Class {
    size_t words = 0, bytes = 0;
  };
  std::map<uint64_t, Class> classes;  // by count
  for (size_t shard = 0; shard < ShardedWordTable::kShards; ++shard) {
    for (const WordTable::Entry& entry : words.shard(shard).entries()) {
      Class& of_count = classes[entry.count];
      ++of_count.words;
      of_count.bytes += entry.size_bytes;
    }
  }
  size_t left = words.size(), bytes_left = words.word_bytes();
  for (const auto& [count, of_count] : classes) {
    left -= of_count.words;
    bytes_left -= of_count.bytes;
    if (left <= limits.most_words / 2 && bytes_left <= limits.most_bytes / 2) return count;
  }
  return 0;
}

void keep_limits(ShardedWordTable& words, const WordCountLimits& limits, ThreadPool& pool,
                 TextStatistics& statistics) {
  const size_t before = words.size();
  if (before <= limits.most_words && words.word_bytes() <= limits.most_bytes) return;
  const uint64_t count = count_to_remove(words, limits);
  pool.parallel_for(ShardedWordTable::kShards, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) words.shard(static_cast<size_t>(i)).remove_rare(count);
  });
  statistics.words_removed += before - words.size();
  statistics.largest_deficit += count;
}

void add(const TextStatistics& part, TextStatistics& total) {
  total.rows += part.rows;
  total.bytes += part.bytes;
  total.malformed += part.malformed;
  total.long_words += part.long_words;
}

}  // namespace

ShardedWordTable count_words(const ReadTexts& read, const TrainingWords& words, ThreadPool& pool,
                             TextStatistics& statistics, const WordCountLimits& limits) {
  ShardedWordTable total;
  std::vector<Counted> counted(static_cast<size_t>(pool.size()));
  Round round, next;
  Background reader;
  round.fill(read, limits.round_bytes);
  while (round.used > 0) {
    reader.submit([&] { next.fill(read, limits.round_bytes); });
    pool.parallel_for(static_cast<int64_t>(round.used), 1,
                      [&](int64_t begin, int64_t end, int thread) {
                        for (int64_t i = begin; i < end; ++i) {
                          count_block(round.blocks[static_cast<size_t>(i)], words,
                                      counted[static_cast<size_t>(thread)]);
                        }
                      });
    pool.parallel_for(ShardedWordTable::kShards, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) move_shard(counted, static_cast<size_t>(i), total);
    });
    keep_limits(total, limits, pool, statistics);
    reader.wait();
    std::swap(round, next);
  }
  for (const Counted& part : counted) add(part.statistics, statistics);
  return total;
}

}  // namespace berth
