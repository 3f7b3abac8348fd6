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
