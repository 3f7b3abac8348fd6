#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/text/pair_merges.h"
#include "trainer/text/piece_table.h"
#include "trainer/text/sentencepiece_model.h"
#include "trainer/text/trie.h"

namespace berth {

// The byte pair encoding of a SentencePiece model (spm/src/bpe_model.cc). It repeatedly merges the
// two neighbors whose joined piece has the highest score, leftmost on ties. User-defined pieces are
// never merged. Pieces of type unused are split again at the end. Immutable and thread-safe.
class SentencePieceBpe {
 public:
  // `user_defined` must outlive this object.
  SentencePieceBpe(const SentencePieceModel& model, const Trie& user_defined);

  struct Part {
    int32_t id;  // -1 if unknown
    Span span;   // in bytes
  };
  // Appends the parts of `text`, in order. `text` must be normalized and valid UTF-8.
  void cut(std::string_view text, std::vector<Part>& parts) const;

 private:
  void insert_merges(const SentencePieceModel& model);
  class Recut;

  const Trie& user_defined_;
  PieceTable symbols_;  // ids of pieces, and higher numbers for characters that are not pieces
  PairMerges merges_;
  std::vector<bool> unused_;  // by id; empty if no piece is of type unused
  int32_t size_;
};

}  // namespace berth
