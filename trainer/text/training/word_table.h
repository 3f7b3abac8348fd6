#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace berth
