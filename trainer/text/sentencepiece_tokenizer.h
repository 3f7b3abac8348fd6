#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainer/text/normalization_steps.h"
#include "trainer/text/sentencepiece_bpe.h"
#include "trainer/text/sentencepiece_model.h"
#include "trainer/text/sentencepiece_normalizer.h"
#include "trainer/text/template_tokenizer.h"
#include "trainer/text/trie.h"
#include "trainer/text/unigram.h"

namespace berth {

struct SentencePieceOptions {
  SpecialTokensTemplate special;
  NormalizationStep prepare;           // applied before the model's own normalization; may be empty
  std::vector<Tokenizer::File> files;  // the files that it was loaded from
};

// The tokenizer of a SentencePiece model, unigram or BPE, whose class no file names. Its ids and
// spans equal libsentencepiece's; a span includes the space before a word. Immutable and
// thread-safe.
class SentencePieceTokenizer final : public TemplateTokenizer {
 public:
  SentencePieceTokenizer(SentencePieceModel model, SentencePieceOptions options);
  SentencePieceTokenizer(const SentencePieceTokenizer&) = delete;

  int32_t vocab_size() const override { return static_cast<int32_t>(model_.pieces.size()); }
  std::string token(int32_t id) const override;
  std::vector<File> files() const override { return files_; }

 protected:
  void append(std::string_view text, Tokens& tokens) const override;

 private:
  using Take = Viterbi<float>::Take;

  void cut(std::string_view normalized, const Take& take) const;

  SentencePieceModel model_;
  SentencePieceOptions options_;
  std::vector<File> files_;
  Trie user_defined_;
  SentencePieceNormalizer normalizer_;
  std::optional<Viterbi<float>> unigram_;
  std::optional<SentencePieceBpe> bpe_;
  std::array<int32_t, 256> byte_ids_;  // ids in the model; only if byte_fallback
};

}  // namespace berth
