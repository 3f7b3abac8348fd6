#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/text/normalizer.h"

namespace berth {

// Words and how often each occurs: an open-addressing hash table over an arena of bytes. Not
// thread-safe.
class WordTable {
 public:
  struct Entry {
    uint64_t hash;
    uint64_t count;
    uint64_t offset;  // of the word's bytes in the arena
    uint32_t size_bytes;
  };

  // Adds `count` occurrences of a word. Equal words must come with equal hashes.
  void add(std::string_view word, uint64_t hash, uint64_t count = 1);

  // Removes the words that occur at most `count` times.
  void remove_rare(uint64_t count);
  void clear();  // keeps the memory

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of first addition
  std::string_view word(const Entry& entry) const {
    return std::string_view(arena_).substr(entry.offset, entry.size_bytes);
  }
  size_t size() const { return entries_.size(); }
  size_t word_bytes() const { return arena_.size(); }

 private:
  void insert(uint64_t hash, uint32_t entry);
  void resize(size_t slots);

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // entry + 1, or 0; a power of two, at most half of them are used
};

// A WordTable in kShards parts. A word's hash decides its part, so threads can merge tables part by
// part. add() mixes the hash itself; the parts hold the mixed hash.
class ShardedWordTable {
 public:
  static constexpr size_t kShards = 64;

  ShardedWordTable() : shards_(kShards) {}

  void add(std::string_view word, uint64_t hash) {
    hash ^= hash >> 32;
    hash *= 0xD6E8FEB86659FD93;
    hash ^= hash >> 32;
    shards_[hash % kShards].add(word, hash);
  }

  WordTable& shard(size_t i) { return shards_[i]; }
  const WordTable& shard(size_t i) const { return shards_[i]; }
  size_t size() const;
  size_t word_bytes() const;

 private:
  std::vector<WordTable> shards_;
};

// Splits texts into the words that a tokenizer of one type would see. Immutable and thread-safe.
class TrainingWords {
 public:
  virtual ~TrainingWords() = default;

  // Adds the words of a row to `table`. `row` must be valid UTF-8. Returns how many occurrences of
  // words were left out because they are longer than the longest word to train on.
  virtual uint64_t add(std::string_view row, ShardedWordTable& table) const = 0;
};

// Words as BertTokenizer splits them. Words of more than `max_chars` characters are left out: the
// tokenizer makes them one [UNK].
std::unique_ptr<TrainingWords> bert_training_words(const NormalizerOptions& options,
                                                   size_t max_chars);

// Words as GPT-2's byte-level pre-tokenizer splits them, as plain bytes. Words of more than 1,024
// bytes are left out.
std::unique_ptr<TrainingWords> byte_level_training_words();

// Words as the tokenizer of unigram_files() splits them: each begins with the sign U+2581. The last
// word of a row ends with kRowEndByte, which no other word contains. Words of more than 1,024 bytes
// are left out.
inline constexpr char kRowEndByte = '\n';
std::unique_ptr<TrainingWords> unigram_training_words();

// Some consecutive rows of the texts that a tokenizer is trained on. A row is a text: a line of a
// text file, or a cell of a table. It may hold any bytes.
struct TextBlock {
  std::string bytes;
  std::vector<size_t> ends;  // where each row ends in `bytes`; the next row begins there

  size_t rows() const { return ends.size(); }
  std::string_view row(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(bytes).substr(begin, ends[i] - begin);
  }
  void append(std::string_view row) {
    bytes += row;
    ends.push_back(bytes.size());
  }
  void clear() {
    bytes.clear();
    ends.clear();
  }
};

// The texts to train on. A call replaces `block` by the next rows, about kTextBlockBytes, and
// returns false if there are none left. It is called from one thread at a time, but not always from
// the same one.
using ReadTexts = std::function<bool(TextBlock& block)>;
inline constexpr size_t kTextBlockBytes = size_t{1} << 18;

// What was found while the words of a text were counted.
struct TextStatistics {
  uint64_t rows = 0;
  uint64_t bytes = 0;            // without the ends of lines
  uint64_t malformed = 0;        // sequences of bytes that are not UTF-8, each read as U+FFFD
  uint64_t long_words = 0;       // occurrences of words that are too long to train on
  uint64_t words_removed = 0;    // distinct words that were removed to bound the memory
  uint64_t largest_deficit = 0;  // the most occurrences of a word that may be missing for it
};

struct WordCountLimits {
  size_t most_words = size_t{4} << 20;    // distinct words that stay from round to round
  size_t most_bytes = size_t{128} << 20;  // of these words
  size_t round_bytes = size_t{32} << 20;  // of text that is counted between two looks at the limits
};

// Counts the words of all texts on all threads of `pool`, while a thread of its own reads ahead.
//
// Memory is bounded as in lossy counting (Manku and Motwani 2002): after each round, if there are
// more words than the limits allow, the rarest are removed until at most half of the limits are
// used. Words that occur equally often stay or are removed together. The counts do not depend on
// the number of threads. The order of the words does.
ShardedWordTable count_words(const ReadTexts& read, const TrainingWords& words, ThreadPool& pool,
                             TextStatistics& statistics, const WordCountLimits& limits = {});

}  // namespace berth
