#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/text/pair_merges.h"
#include "trainer/text/piece_table.h"
#include "trainer/text/word_model.h"

namespace berth {

struct BpeOptions {
  bool byte_level = false;               // words are bytes, tokens spell them with GPT-2's alphabet
  std::optional<std::string> unk_token;  // absent: what is unknown is left out
  std::string continuing_subword_prefix, end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;  // unknown characters become <0x0A>
  bool ignore_merges = false;  // a word that is a token stays one
};

// Byte pair encoding as tokenizers/src/models/bpe. Most words of a text are one token: those that
// the merges make of themselves are found once, when it is built. Immutable, thread-safe.
class Bpe final : public WordModel {
 public:
  using Vocabulary = std::vector<std::pair<std::string, int32_t>>;
  using Merges = std::vector<std::pair<std::string, std::string>>;  // in order of rank

  // Throws kBadData for ids below 0 or far beyond the vocabulary, an unknown token that the
  // vocabulary lacks and a merge of or into no token.
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
  PieceTable whole_words_;  // words, as they stand in a text, that become one token
  PairMerges merges_;
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> byte_ids_;  // of each byte: its character, or its fallback; -1: none
};

}  // namespace berth
