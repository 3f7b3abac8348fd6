#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/text/pair_merges.h"
#include "trainer/text/piece_table.h"
#include "trainer/text/sentencepiece_model.h"
#include "trainer/text/trie.h"

namespace berth {

// The byte pair encoding of a SentencePiece model: characters merge to the neighbours' piece of the
// highest score, leftmost on ties; user-defined pieces stay whole; pieces of type unused are cut
// again at the end (spm/src/bpe_model.cc). Immutable, thread-safe.
class SentencePieceBpe {
 public:
  // `user_defined` outlives it.
  SentencePieceBpe(const SentencePieceModel& model, const Trie& user_defined);

  struct Part {
    int32_t id;  // -1: unknown
    Span span;   // in bytes
  };
  // The parts of `text`, normalized and valid UTF-8, in order.
  void cut(std::string_view text, std::vector<Part>& parts) const;

 private:
  void insert_merges(const SentencePieceModel& model);
  class Recut;

  const Trie& user_defined_;
  PieceTable symbols_;  // ids, and past them numbers of characters that are no pieces
  PairMerges merges_;
  std::vector<bool> unused_;  // by id; empty where none is
  int32_t size_;
};

}  // namespace berth
