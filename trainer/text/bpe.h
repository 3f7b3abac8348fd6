#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/text/piece_table.h"
#include "trainer/text/template_tokenizer.h"
#include "trainer/text/word_model.h"

namespace berth {

// A part of a word while the word is being merged.
struct Symbol {
  int32_t id;
  Span span;            // bytes of the word
  bool frozen = false;  // never merged with its neighbors
};

// The merges of a byte pair encoding (Sennrich et al. 2016): a hash table from a pair of ids to the
// id that they become. Once it is filled it is immutable and thread-safe.
class PairMerges {
 public:
  void reserve(size_t count);
  // Merges of lower rank are applied first. If a pair is inserted twice, the first one counts.
  void insert(int32_t left, int32_t right, uint32_t rank, int32_t merged);

  struct Merge {
    uint32_t rank = UINT32_MAX;  // UINT32_MAX means that there is no merge
    int32_t merged = -1;
  };
  Merge find(int32_t left, int32_t right) const;

  // A pair of neighbors that could have been merged at some point.
  struct Candidate {
    int32_t merged;
    Span left, right;
  };

  // Merges neighbors until no merge is left. Each time it applies the merge of the lowest rank, and
  // among equal ranks the leftmost. Short words are scanned; long ones use a heap and take n log n
  // time. If `candidates` is not null, it receives every pair that was considered, in order.
  void apply(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates = nullptr) const;

 private:
  struct Slot {
    uint64_t pair = UINT64_MAX;
    Merge merge;
  };

  size_t slot_of(uint64_t pair) const;
  void grow(size_t slots);
  Merge between(const Symbol& left, const Symbol& right, std::vector<Candidate>* candidates) const;
  void scan(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const;
  void merge_by_heap(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const;

  std::vector<Slot> slots_;  // the size is a power of two; at most half of them are used
  size_t size_ = 0;
};

struct BpeOptions {
  bool byte_level = false;               // words are bytes, which tokens write in GPT-2's alphabet
  std::optional<std::string> unk_token;  // if absent, unknown characters are left out
  std::string continuing_subword_prefix, end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;  // unknown characters become byte tokens such as <0x0A>
  bool ignore_merges = false;  // a word that is a token is not merged
};

// Byte pair encoding (like tokenizers/src/models/bpe). In most texts, most words are a single
// token. The constructor finds all words that the merges turn into a single token and stores them
// in a table. Immutable and thread-safe.
class Bpe final : public WordModel {
 public:
  using Vocabulary = std::vector<std::pair<std::string, int32_t>>;
  using Merges = std::vector<std::pair<std::string, std::string>>;  // the best rank first

  // Throws kBadData if an id is negative or far larger than the vocabulary. Also throws it if the
  // vocabulary lacks the unknown token or a token of a merge.
  Bpe(const Vocabulary& vocabulary, const Merges& merges, BpeOptions options);

  int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }
  std::string token(int32_t id) const override;
  int32_t find(std::string_view token) const override { return ids_.find(token); }
  void append(std::string_view word, size_t offset, Tokens& tokens) const override;

 private:
  void insert_merges(const Merges& merges);
  void find_whole_words();
  void cut(std::string_view word, std::vector<Symbol>& symbols) const;
  void cut_bytes(std::string_view word, std::vector<Symbol>& symbols) const;
  void cut_characters(std::string_view word, std::vector<Symbol>& symbols) const;
  bool fall_back_to_bytes(std::string_view character, Span span,
                          std::vector<Symbol>& symbols) const;

  BpeOptions options_;
  std::vector<std::string> tokens_;  // by id
  PieceTable ids_;
  PieceTable whole_words_;  // words that become a single token
  PairMerges merges_;
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> byte_ids_;  // id of each byte's character or fallback; -1 if none
};

}  // namespace berth
