#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trainer/text/training/tokenizer_trainer.h"

namespace berth {

// The growing vocabulary of a trainer. A piece that continues a word begins with `prefix`, which
// may be empty. Not thread-safe.
class PieceList {
 public:
  explicit PieceList(std::string prefix) : prefix_(std::move(prefix)) {}

  // Returns the id of a piece, which is added if it is new. Ids count from 0.
  int32_t add(std::string piece);
  int32_t find(std::string_view piece) const;  // -1 if absent
  // Adds the piece that two neighbors become: the second loses its prefix.
  int32_t join(int32_t left, int32_t right);

  size_t size() const { return pieces_.size(); }
  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  std::string prefix_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, int32_t> ids_;
};

// Distinct words as sequences of pieces, one after the other.
struct SymbolWords {
  std::vector<int32_t> symbols;
  std::vector<uint64_t> ends;    // where each word ends in `symbols`
  std::vector<uint64_t> counts;  // how often each word occurs

  void end_word(uint64_t count) {
    ends.push_back(symbols.size());
    counts.push_back(count);
  }
};

// Learns the merges of a byte pair encoding (Sennrich et al. 2016, arXiv:1508.07909). It merges the
// most frequent pair of neighbors everywhere in `words`, and adds the merged piece to `pieces`. It
// repeats this until `pieces` has `most_pieces`, or no pair occurs `min_frequency` times. Among
// pairs of equal frequency, the smaller first id wins, then the smaller second id. So the order of
// the words does not matter.
//
// A pair knows the words that it occurs in, so a merge looks at these words only. A priority queue
// finds the most frequent pair; an entry of it is corrected when it comes up (like the BpeTrainer
// of `tokenizers`). Uses and empties `words`. Returns the merges in order, as pairs of ids.
// Calls `on_pieces` before each merge.
std::vector<std::pair<int32_t, int32_t>> merge_pairs(SymbolWords words, size_t most_pieces,
                                                     uint64_t min_frequency, PieceList& pieces,
                                                     const OnPieces& on_pieces = {});

}  // namespace berth
