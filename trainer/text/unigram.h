#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/text/piece_table.h"
#include "trainer/text/word_model.h"

namespace berth {

// Finds the best segmentation of a text into pieces under a unigram language model (Kudo 2018),
// with the Viterbi algorithm over its bytes. `Score` is float like in libsentencepiece, or double
// like in `tokenizers`; the rounding of sums decides ties and near ties. Immutable and thread-safe.
template <typename Score>
class Viterbi {
 public:
  struct Piece {
    std::string_view text;
    int32_t value;
    double score;  // the score and all sums are rounded to Score
  };
  // `unknown` is the score of a character that is not a piece by itself.
  Viterbi(const std::vector<Piece>& pieces, Score unknown);

  struct Part {
    int32_t value;  // -1 if unknown
    Span span;      // bytes of the text
  };
  // Passes the parts of `text`, which must be valid UTF-8, to `take`, in order and some at a time.
  // Its memory grows with the text only while pieces overlap without an end. At a position that no
  // piece crosses, the best way to it is final, and its parts are passed on.
  using Take = std::function<void(std::span<const Part>)>;
  void cut(std::string_view text, const Take& take) const;

 private:
  // The best way to a place of the text.
  struct Node {
    Score score;
    int32_t value;   // of its last part
    uint32_t begin;  // of its last part; UINT32_MAX if no way was found
  };

  static void trace(std::span<const Node> nodes, size_t begin, size_t end,
                    std::vector<Part>& parts);

  Trie trie_;
  std::vector<double> scores_;  // by value
  Score unknown_;
};

// The Unigram model of `tokenizers` (tokenizers/src/models/unigram). Immutable and thread-safe.
class Unigram final : public WordModel {
 public:
  // Throws kBadData if there are no pieces, or if `unk_id` is not the id of a piece.
  Unigram(std::vector<std::pair<std::string, double>> pieces, std::optional<int32_t> unk_id,
          bool byte_fallback);

  int32_t vocab_size() const override { return static_cast<int32_t>(pieces_.size()); }
  std::string token(int32_t id) const override;
  int32_t find(std::string_view token) const override { return ids_.find(token); }
  void append(std::string_view word, size_t offset, Tokens& tokens) const override;

 private:
  void append_unknown(std::string_view text, Span span, Tokens& tokens) const;

  std::vector<std::pair<std::string, double>> pieces_;
  int32_t unk_id_;
  bool byte_fallback_;
  PieceTable ids_;
  std::vector<int32_t> byte_ids_;  // ids of <0x00>, <0x01>, ...; -1 if absent
  Viterbi<double> viterbi_;
};

}  // namespace berth
