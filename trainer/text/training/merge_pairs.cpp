#include "trainer/text/training/merge_pairs.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "trainer/text/training/pair_counts.h"

namespace berth {

namespace {

struct QueuedPair {
  uint64_t count;
  int32_t left, right;
  uint32_t number;

  // Whether `other` is merged first.
  bool operator<(const QueuedPair& other) const {
    return std::tie(count, other.left, other.right) < std::tie(other.count, left, right);
  }
};

class MergeTrainer {
 public:
  explicit MergeTrainer(SymbolWords words) : words_(std::move(words)) {
    sizes_.resize(words_.ends.size());
    for (uint32_t word = 0; word < sizes_.size(); ++word) {
      const uint64_t begin = begin_of(word);
      sizes_[word] = static_cast<uint32_t>(words_.ends[word] - begin);
      for (uint64_t i = begin; i + 1 < words_.ends[word]; ++i) {
        count(words_.symbols[i], words_.symbols[i + 1], word);
      }
    }
    for (uint32_t number = 0; number < pairs_.size(); ++number) enqueue(number);
  }

  // Returns the number of the most frequent pair, or nullopt if none occurs `least` times.
  bool next(uint64_t least, uint32_t& number) {
    while (!queue_.empty()) {
      const QueuedPair top = queue_.top();
      queue_.pop();
      PairCounts::Pair& pair = pairs_[top.number];
      if (top.count != pair.queued) continue;  // another entry took its place
      pair.queued = 0;
      if (top.count != pair.count) {
        enqueue(top.number);
        continue;
      }
      number = top.number;
      return pair.count >= least;
    }
    return false;
  }

  std::pair<int32_t, int32_t> pair(uint32_t number) {
    return {pairs_[number].left, pairs_[number].right};
  }

  // Replaces the pair by `merged` in all words.
  void merge(uint32_t number, int32_t merged) {
    const std::vector<uint32_t> affected = std::move(pairs_[number].words);
    for (const uint32_t word : affected) merge_in(word, pair(number), merged);
    pairs_[number].count = 0;
    pairs_[number].words = {};
    for (const uint32_t grown : grown_) {
      if (pairs_[grown].count != pairs_[grown].queued) enqueue(grown);
    }
    grown_.clear();
  }

 private:
  uint64_t begin_of(uint32_t word) const { return word == 0 ? 0 : words_.ends[word - 1]; }

  // Counts the occurrences of a pair at one place of a word.
  uint32_t count(int32_t left, int32_t right, uint32_t word) {
    const uint32_t number = pairs_.number(left, right);
    PairCounts::Pair& pair = pairs_[number];
    pair.count += words_.counts[word];
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
    return number;
  }

  void discount(int32_t left, int32_t right, uint32_t word) {
    pairs_[pairs_.number(left, right)].count -= words_.counts[word];
  }

  void enqueue(uint32_t number) {
    PairCounts::Pair& pair = pairs_[number];
    if (pair.count == 0) return;
    pair.queued = pair.count;
    queue_.push({pair.count, pair.left, pair.right, number});
  }

  // Merges the pair in one word, from left to right, and counts its new neighbors.
  void merge_in(uint32_t word, std::pair<int32_t, int32_t> pair, int32_t merged) {
    int32_t* const symbols = words_.symbols.data() + begin_of(word);
    const uint32_t size = sizes_[word];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < size; ++i) {
      if (i + 1 == size || symbols[i] != pair.first || symbols[i + 1] != pair.second) {
        symbols[kept++] = symbols[i];
        continue;
      }
      if (kept > 0) {
        discount(symbols[kept - 1], pair.first, word);
        grown_.push_back(count(symbols[kept - 1], merged, word));
      }
      if (i + 2 < size) {
        discount(pair.second, symbols[i + 2], word);
        grown_.push_back(count(merged, symbols[i + 2], word));
      }
      symbols[kept++] = merged;
      ++i;
    }
    sizes_[word] = kept;
  }

  SymbolWords words_;
  std::vector<uint32_t> sizes_;  // of each word, in symbols
  PairCounts pairs_;
  std::priority_queue<QueuedPair> queue_;
  std::vector<uint32_t> grown_;  // pairs that the current merge made
};

}  // namespace

std::vector<std::pair<int32_t, int32_t>> merge_pairs(SymbolWords words, size_t most_pieces,
                                                     uint64_t min_frequency, PieceList& pieces,
                                                     const OnPieces& on_pieces) {
  MergeTrainer trainer(std::move(words));
  std::vector<std::pair<int32_t, int32_t>> merges;
  const uint64_t least = std::max<uint64_t>(1, min_frequency);
  for (uint32_t number; pieces.size() < most_pieces && trainer.next(least, number);) {
    if (on_pieces) on_pieces(pieces.size(), most_pieces);
    const auto [left, right] = trainer.pair(number);
    merges.emplace_back(left, right);
    trainer.merge(number, pieces.join(left, right));
  }
  return merges;
}

}  // namespace berth
