#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/normalization_steps.h"
#include "trainer/text/sentencepiece_bpe.h"
#include "trainer/text/sentencepiece_model.h"
#include "trainer/text/sentencepiece_normalizer.h"
#include "trainer/text/template_tokenizer.h"
#include "trainer/text/trie.h"
#include "trainer/text/unigram.h"

namespace berth {

// What a family of models adds to its .model file.
struct SentencePieceOptions {
  SpecialTokensTemplate special;
  std::vector<AddedToken> added_tokens;  // cut out of the text first
  NormalizationStep prepare;             // before the model's own normalization; may be empty
  int32_t shift = 0;                     // an id is the model's plus this...
  int32_t unk_id = -1;                   // ...but of unknown text it is this
  std::vector<Tokenizer::File> files;    // that it was made of
};

// A SentencePiece model, unigram or BPE, with the ids of libsentencepiece. The span of a piece is
// that of libsentencepiece, too: it holds the space before a word. Immutable, thread-safe.
class SentencePieceTokenizer final : public TemplateTokenizer {
 public:
  SentencePieceTokenizer(SentencePieceModel model, SentencePieceOptions options);
  SentencePieceTokenizer(const SentencePieceTokenizer&) = delete;

  int32_t vocab_size() const override { return vocab_size_; }
  std::string token(int32_t id) const override;
  std::vector<File> files() const override { return files_; }

 protected:
  void append(std::string_view text, Tokens& tokens) const override;

 private:
  using Parts = std::vector<Viterbi<float>::Part>;

  void append_section(std::string_view text, size_t shift, Tokens& tokens) const;
  void cut(std::string_view normalized, Parts& parts) const;

  SentencePieceModel model_;
  SentencePieceOptions options_;
  std::vector<File> files_;
  Trie user_defined_;
  SentencePieceNormalizer normalizer_;
  std::optional<Viterbi<float>> unigram_;
  std::optional<SentencePieceBpe> bpe_;
  AddedTokenFinder added_tokens_;
  std::array<int32_t, 256> byte_ids_;  // of the model; only with byte_fallback
  int32_t vocab_size_;
};

}  // namespace berth
