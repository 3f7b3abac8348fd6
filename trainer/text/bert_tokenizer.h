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

namespace berth {

// The settings of a BERT tokenizer, as its files state them.
struct BertTokenizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool lowercase = true;
  std::optional<bool> strip_accents;  // if absent, strips accents if `lowercase`
  std::string sep_token = "[SEP]", pad_token = "[PAD]", cls_token = "[CLS]", mask_token = "[MASK]";
  std::vector<AddedToken>
      added_tokens;  // includes the five tokens above that exist in the vocabulary
  // As MPNet's: <s> A </s></s> B </s>, and all types are 0.
  bool separates_twice = false;
  // See PipelineOptions.
  bool trim_spans = false, add_prefix_space = false;
  bool cuts_left = false;  // truncation_side is "left"
  // These two are only written to the exported files:
  std::optional<uint64_t> model_max_length;
  bool has_token_types = true;  // false for DistilBERT, whose model has no token types
};

// The tokenizer of BERT and of MPNet. Its results equal the results of the Rust library
// `tokenizers` 0.23, and so of the fast tokenizer in transformers. Without offsets, ids are
// produced in one pass over the text. With offsets, the steps of a Pipeline produce the same ids.
// Immutable and thread-safe.
class BertTokenizer final : public TemplateTokenizer {
 public:
  // Throws kBadData if the vocabulary has no [CLS] or [SEP] token.
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
  Normalizer untouched_;                // for text that is already normalized
  AddedTokenFinder raw_tokens_;         // matched in the original text
  AddedTokenFinder normalized_tokens_;  // matched in the normalized text
  WordPieceModel model_;
  Pipeline aligned_;  // used if offsets are wanted
  int32_t vocab_size_;
};

}  // namespace berth
