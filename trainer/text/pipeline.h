#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/normalization_steps.h"
#include "trainer/text/split_text.h"
#include "trainer/text/template_tokenizer.h"
#include "trainer/text/word_model.h"

namespace berth {

struct PipelineOptions {
  std::vector<AddedToken> added_tokens;
  NormalizationStep normalize;   // empty: no normalization
  SplitStep split;               // empty: the whole text is one word
  bool needs_alignment = false;  // a step reads origins even if spans are not wanted
  // No step looks beyond an ASCII space. Long texts are then cut at spaces, which saves memory: the
  // steps hold some 30 bytes for each byte of what they work on.
  bool splits_at_spaces = false;
  // The effects of ByteLevel and RobertaProcessing on spans.
  bool trim_spans = false, add_prefix_space = false;
  bool keeps_spaces = false;  // a space is a part of the word behind it
};

// Turns a text into tokens as the Rust library `tokenizers` 0.23 does. It cuts out added tokens and
// normalizes the rest. Then it cuts out added tokens that match normalized text, splits the rest
// into words, and passes each word to the model. Immutable and thread-safe.
class Pipeline {
 public:
  // `model` must outlive the pipeline.
  Pipeline(PipelineOptions options, const WordModel& model);

  // Appends the tokens of `text`, which must be valid UTF-8.
  void append(std::string_view text, Tokens& tokens) const;

  // See TemplateTokenizer.
  bool drops_space(std::string_view word) const;

 private:
  // `original` is the whole text. Spans are positions in it.
  void append_section(std::string_view original, std::string_view section, Tokens& tokens) const;
  void append_part(std::string_view original, std::string_view part, Tokens& tokens) const;
  void append_words(std::string_view original, SplitText text, Tokens& tokens) const;
  void add_token(std::string_view original, int32_t id, std::string_view surface, Span origin,
                 Tokens& tokens) const;
  Span trimmed(std::string_view original, Span span, size_t leading, size_t trailing,
               bool is_first) const;

  PipelineOptions options_;
  AddedTokenFinder raw_tokens_;         // matched in the original text
  AddedTokenFinder normalized_tokens_;  // matched in the normalized text
  const WordModel& model_;
};

// Everything that defines one tokenizer of the `tokenizers` library, as its files state it.
struct PipelineParts {
  PipelineOptions options;
  std::unique_ptr<const WordModel> model;
  SpecialTokensTemplate special;
  std::vector<Tokenizer::File> files;  // the files that it was loaded from
};

// A tokenizer that runs a Pipeline: byte-level BPE, and whatever tokenizer.json describes. Its
// results equal the results of `tokenizers` 0.23. Immutable and thread-safe.
class PipelineTokenizer final : public TemplateTokenizer {
 public:
  explicit PipelineTokenizer(PipelineParts parts);

  int32_t vocab_size() const override { return vocab_size_; }
  std::string token(int32_t id) const override;
  std::vector<File> files() const override { return files_; }

 protected:
  void append(std::string_view text, Tokens& tokens) const override;
  bool drops_space(std::string_view word) const override { return pipeline_.drops_space(word); }

 private:
  std::unique_ptr<const WordModel> model_;
  std::vector<AddedToken> added_tokens_;
  Pipeline pipeline_;
  std::vector<File> files_;
  int32_t vocab_size_;
};

}  // namespace berth
