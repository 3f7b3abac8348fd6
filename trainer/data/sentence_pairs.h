#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/data/features.h"
#include "trainer/data/masking.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The special tokens around the two texts of a pair, and the types of all its tokens.
struct PairFrame {
  std::vector<int32_t> before{}, between{}, behind{};
  std::vector<int32_t> before_types{}, between_types{}, behind_types{};
  int32_t first_type = 0, second_type = 1;

  size_t size() const { return before.size() + between.size() + behind.size(); }
};

// Some sentences of a document that lie behind one another, without tokens at both ends.
struct SentenceRun {
  uint32_t document = 0;        // its place among the documents
  uint32_t begin = 0, end = 0;  // its sentences, counted from the first one of the document
  uint32_t cut_front = 0, cut_back = 0;
};

// Two texts for next sentence prediction (Devlin et al. 2018, arXiv:1810.04805, section 3.1), or
// for sentence order prediction (Lan et al. 2019, arXiv:1909.11942, section 3.1).
struct SentencePair {
  SentenceRun first{}, second{};
  bool is_negative = false;  // the second text does not follow the first one
};

// Makes pairs of the sentences of documents, as create_instances_from_document() of
// google-research/bert's create_pretraining_data.py does: sentences are taken until they have the
// tokens of a pair. The first text is some of them. The second one is, in half of the cases, the
// others, and else sentences of another document; the others are then taken again. One of ten
// documents has shorter pairs. A pair that is too long loses tokens at either end of its longer
// text.
//
// For sentence order prediction, the two texts change places instead, as in
// google-research/albert's script. One sentence alone still gets a second text from another
// document.
//
// A pass makes as many pairs as the documents give under the draws of evaluation, in every round:
// it begins at a document that is drawn, goes on from the last one to the first one, and ends where
// there are enough. Everything is a function of (seed, round, place of the document) by Philox.
// Used by one thread at a time.
class SentencePairs {
 public:
  struct Options {
    int64_t most_tokens = 0;  // of the two texts together, at least 2
    double short_share = 0.1;
    double negative_share = 0.5;
    bool swaps = false;  // for sentence order prediction
    uint64_t seed = 42;
  };

  // The tokens of each sentence, and the first sentence of each document, and behind them the
  // number of all. Documents without a sentence are left out. Both are borrowed. Throws kBadData
  // where there are fewer than two documents, or where none has two sentences.
  SentencePairs(const Options& options, std::span<const uint32_t> lengths,
                std::span<const uint32_t> first_sentence);

  int64_t size() const { return size_; }
  // Begins a pass, unless it is this one already.
  void begin(const MaskingRound& round);
  // The pair at `index` of the pass. Valid until the next call.
  const SentencePair& pair(int64_t index);
  // The document of its first text.
  uint32_t document(int64_t index) const;
  int64_t tokens(const SentenceRun& run) const;

  size_t memory_bytes() const;

 private:
  class Draws;
  struct Slot {
    uint32_t place;  // in documents_
    uint32_t lap;    // how often the pass had the document before
  };

  Slot slot(size_t number) const;
  size_t slot_of(int64_t index) const;
  void make(Slot slot, std::vector<SentencePair>& pairs) const;
  SentenceRun from_elsewhere(uint32_t place, int64_t wanted, Draws& draws) const;
  void truncate(SentencePair& pair, Draws& draws) const;
  uint32_t sentences(uint32_t document) const {
    return first_sentence_[document + 1] - first_sentence_[document];
  }

  const Options options_;
  const std::span<const uint32_t> lengths_, first_sentence_;
  std::vector<uint32_t> documents_;  // that have a sentence
  int64_t size_ = 0;
  // The pass.
  bool has_begun_ = false;
  MaskingRound round_;
  std::array<uint32_t, 2> key_{};
  uint32_t offset_ = 0;
  std::vector<int64_t> first_pair_;  // of each slot
  // The pairs of one slot.
  size_t made_slot_ = SIZE_MAX;
  std::vector<SentencePair> made_, counted_;
};

// What a data set makes pairs with.
struct PairMaker {
  PairFrame frame;
  SentencePairs pairs;
};

// For documents of sentences. The features of a row of texts are the sentences of its document
// without special tokens, a line each; Dataset makes pairs of them. A row of token ids is a pair
// already: its label is whether the second text does not follow the first one, and its tokens may
// be masked.
std::unique_ptr<FeatureMaker> make_sentence_features(FeatureOptions options,
                                                     const Tokenizer& tokenizer);

}  // namespace berth
