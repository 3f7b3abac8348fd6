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

// What a model family adds to its .model file.
struct SentencePieceOptions {
  SpecialTokensTemplate special;
  std::vector<AddedToken> added_tokens;  // cut out of the text before anything else
  NormalizationStep prepare;           // applied before the model's own normalization; may be empty
  int32_t shift = 0;                   // added to the ids of the model
  int32_t unk_id = -1;                 // id of unknown text; -1: the model's own
  std::vector<Tokenizer::File> files;  // the files that it was loaded from
};

// A tokenizer with a SentencePiece model, unigram or BPE. Its ids and spans equal those of
// libsentencepiece; a span includes the space before a word. Immutable and thread-safe.
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
  using Take = Viterbi<float>::Take;

  void append_section(std::string_view text, size_t shift, Tokens& tokens) const;
  // Appends the tokens of `text`, a part of what options_.prepare made of a text at `shift`.
  void append_prepared(const AlignedText& prepared, std::string_view text, size_t shift,
                       Tokens& tokens) const;
  void cut(std::string_view normalized, const Take& take) const;

  SentencePieceModel model_;
  SentencePieceOptions options_;
  std::vector<File> files_;
  Trie user_defined_;
  SentencePieceNormalizer normalizer_;
  std::optional<Viterbi<float>> unigram_;
  std::optional<SentencePieceBpe> bpe_;
  AddedTokenFinder added_tokens_;      // in the text
  AddedTokenFinder prepared_tokens_;   // in the prepared text: the tokens that are normalized
  std::array<int32_t, 256> byte_ids_;  // ids in the model; only if byte_fallback
  int32_t vocab_size_;
};

}  // namespace berth
