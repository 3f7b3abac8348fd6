#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/normalizer.h"
#include "trainer/text/pipeline.h"
#include "trainer/text/template_tokenizer.h"
#include "trainer/text/word_model.h"
#include "trainer/text/wordpiece.h"

namespace berth {

// Everything that makes one BERT tokenizer, as its files say it.
struct BertTokenizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool lowercase = true;
  std::optional<bool> strip_accents;  // absent: where lowercase
  std::string sep_token = "[SEP]", pad_token = "[PAD]", cls_token = "[CLS]", mask_token = "[MASK]";
  std::vector<AddedToken> added_tokens;  // the five above are among them, where in the vocabulary
  // Only passed on to the files:
  std::optional<uint64_t> model_max_length;
  bool has_token_types = true;  // else they are DistilBERT's, whose model takes none
};

// The BERT tokenizer, equal to that of the Rust library `tokenizers` 0.23 (and so to the fast one
// of transformers). Ids alone come from one pass over the text; with offsets, the same comes from
// the pipeline's steps. Immutable, thread-safe.
class BertTokenizer final : public TemplateTokenizer {
 public:
  // Throws kBadData without the [CLS] or [SEP] token.
  BertTokenizer(WordPiece wordpiece, BertTokenizerOptions options);
  BertTokenizer(const BertTokenizer&) = delete;

  int32_t vocab_size() const override { return vocab_size_; }
  std::string token(int32_t id) const override;
  std::vector<File> files() const override;

  const BertTokenizerOptions& options() const { return options_; }

 protected:
  void append(std::string_view text, Tokens& tokens) const override;

 private:
  void append_words(const Normalizer& normalizer, std::string_view text, Tokens& tokens) const;

  BertTokenizerOptions options_;
  WordPiece wordpiece_;
  Normalizer normalizer_;
  Normalizer untouched_;                // splits what is normalized already
  AddedTokenFinder raw_tokens_;         // found in the text as it came
  AddedTokenFinder normalized_tokens_;  // found after normalization
  WordPieceModel model_;
  Pipeline aligned_;  // the same, for spans
  int32_t vocab_size_;
};

}  // namespace berth
