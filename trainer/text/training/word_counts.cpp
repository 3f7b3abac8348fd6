#include "trainer/text/training/word_counts.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/text/split_text.h"
#include "trainer/text/training/tokenizer_files.h"
#include "trainer/text/unicode.h"
#include "trainer/text/word_model.h"

namespace berth {

namespace {

constexpr size_t kFewestSlots = 64;

}  // namespace

void WordTable::add(std::string_view word, uint64_t hash, uint64_t count) {
  if (2 * (entries_.size() + 1) > slots_.size()) resize(std::max(kFewestSlots, 2 * slots_.size()));
  const size_t mask = slots_.size() - 1;
  size_t slot = (hash >> 8) & mask;  // the low bits chose the shard
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && this->word(entry) == word) {
      entry.count += count;
      return;
    }
  }
  entries_.push_back({hash, count, arena_.size(), static_cast<uint32_t>(word.size())});
  arena_ += word;
  slots_[slot] = static_cast<uint32_t>(entries_.size());
}

void WordTable::insert(uint64_t hash, uint32_t entry) {
  const size_t mask = slots_.size() - 1;
  size_t slot = (hash >> 8) & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = entry + 1;
}

void WordTable::resize(size_t slots) {
  slots_.assign(slots, 0);
  for (uint32_t i = 0; i < entries_.size(); ++i) insert(entries_[i].hash, i);
}

void WordTable::remove_rare(uint64_t count) {
  size_t bytes = 0, kept = 0;
  for (const Entry& entry : entries_) {
    if (entry.count <= count) continue;
    // Words move towards the beginning of the arena only, past bytes that were already moved.
    std::memmove(arena_.data() + bytes, arena_.data() + entry.offset, entry.size_bytes);
    Entry moved = entry;
    moved.offset = bytes;
    bytes += entry.size_bytes;
    entries_[kept++] = moved;
  }
  entries_.resize(kept);
  arena_.resize(bytes);
  resize(slots_.size());
}

void WordTable::clear() {
  arena_.clear();
  entries_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

size_t ShardedWordTable::size() const {
  size_t total = 0;
  for (const WordTable& shard : shards_) total += shard.size();
  return total;
}

size_t ShardedWordTable::word_bytes() const {
  size_t total = 0;
  for (const WordTable& shard : shards_) total += shard.word_bytes();
  return total;
}

namespace {

constexpr size_t kMostBytes = 1024;

class BertTrainingWords final : public TrainingWords {
 public:
  BertTrainingWords(const NormalizerOptions& options, size_t max_chars)
      : normalizer_(options), max_chars_(max_chars) {}

  uint64_t add(std::string_view row, ShardedWordTable& table) const override {
    uint64_t left_out = 0;
    WordCollector words(max_chars_, [&](std::string_view word, size_t num_chars, uint64_t hash) {
      if (num_chars <= max_chars_) {
        table.add(word, hash);
      } else {
        ++left_out;
      }
      return true;
    });
    normalizer_.normalize(row, words);
    words.end_word();
    return left_out;
  }

 private:
  const Normalizer normalizer_;
  const size_t max_chars_;
};

uint64_t hash_of(std::string_view word) {
  uint64_t hash = WordPiece::kHashSeed;
  for (const char byte : word) hash = WordPiece::hash_step(hash, byte);
  return hash;
}

class ByteLevelTrainingWords final : public TrainingWords {
 public:
  uint64_t add(std::string_view row, ShardedWordTable& table) const override {
    uint64_t left_out = 0;
    for (size_t begin = 0; begin < row.size();) {
      const size_t end = byte_level_word_end(row, begin);
      const std::string_view word = row.substr(begin, end - begin);
      begin = end;
      if (word.size() > kMostBytes) {
        ++left_out;
        continue;
      }
      table.add(word, hash_of(word));
    }
    return left_out;
  }
};

class UnigramTrainingWords final : public TrainingWords {
 public:
  uint64_t add(std::string_view row, ShardedWordTable& table) const override {
    AlignedText normalized(row, 0, /*aligned=*/false);
    normalize_(normalized);
    SplitText text(std::move(normalized));
    split_(text);
    uint64_t left_out = 0;
    std::string last;
    for (const Span& span : text.words) {
      std::string_view word = text.word(span);
      if (&span == &text.words.back()) word = last = std::string(word) + kRowEndByte;
      if (word.size() > kMostBytes) {
        ++left_out;
      } else {
        table.add(word, hash_of(word));
      }
    }
    return left_out;
  }

 private:
  const NormalizationStep normalize_ = unigram_normalization();
  const SplitStep split_ = unigram_splitting();
};

}  // namespace

std::unique_ptr<TrainingWords> bert_training_words(const NormalizerOptions& options,
                                                   size_t max_chars) {
  return std::make_unique<BertTrainingWords>(options, max_chars);
}

std::unique_ptr<TrainingWords> byte_level_training_words() {
  return std::make_unique<ByteLevelTrainingWords>();
}

std::unique_ptr<TrainingWords> unigram_training_words() {
  return std::make_unique<UnigramTrainingWords>();
}

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

void count_block(const TextBlock& block, const TrainingWords& words, Counted& counted) {
  std::string copy;
  for (size_t i = 0; i < block.rows(); ++i) {
    std::string_view row = block.row(i);
    if (find_invalid_utf8(row)) {
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
