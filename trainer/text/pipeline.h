#pragma once

#include <memory>
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
  NormalizationStep normalize;   // empty: nothing to do
  SplitStep split;               // empty: one word
  bool needs_alignment = false;  // of its steps, whether or not spans are wanted
  // What ByteLevel and RobertaProcessing do to spans.
  bool trim_spans = false, add_prefix_space = false;
};

// A text to tokens as the Rust library `tokenizers` 0.23 does: added tokens are cut out, the rest
// is normalized, cut at added tokens again, split into words, and each word goes to the model.
// Immutable, thread-safe.
class Pipeline {
 public:
  // `model` outlives it.
  Pipeline(PipelineOptions options, const WordModel& model);

  // `text` is valid UTF-8.
  void append(std::string_view text, Tokens& tokens) const;

 private:
  // `original` is the whole text that spans speak of.
  void append_section(std::string_view original, std::string_view section, Tokens& tokens) const;
  void append_words(std::string_view original, SplitText text, Tokens& tokens) const;
  void add_token(std::string_view original, int32_t id, std::string_view surface, Span origin,
                 Tokens& tokens) const;
  Span trimmed(std::string_view original, Span span, size_t leading, size_t trailing,
               bool is_first) const;

  PipelineOptions options_;
  AddedTokenFinder raw_tokens_;         // found in the text as it came
  AddedTokenFinder normalized_tokens_;  // found after normalization
  const WordModel& model_;
};

}  // namespace berth
