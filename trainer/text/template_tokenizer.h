#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace berth {

// What one text became so far, without special tokens around it.
struct Tokens {
  size_t enough = SIZE_MAX;  // no more ids are looked at
  bool with_spans = false;
  std::vector<int32_t> ids;
  std::vector<Span> spans;  // in bytes of the text; empty unless wanted

  bool full() const { return ids.size() >= enough; }
  void add(int32_t id, Span span) {
    ids.push_back(id);
    if (with_spans) spans.push_back(span);
  }
};

// One place of a template: a special token, or a text with its type.
struct TemplatePart {
  enum Kind : uint8_t { kToken, kFirst, kSecond };
  Kind kind = kToken;
  int32_t id = -1;  // of kToken
  int32_t type_id = 0;
};

// "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]". A text has its part once in each, if at all.
struct SpecialTokensTemplate {
  std::vector<TemplatePart> single, pair;

  // cls A sep, cls A sep B sep; types 0, and 1 for B and what follows.
  static SpecialTokensTemplate bert(int32_t cls, int32_t sep);
  // cls A sep, cls A sep sep B sep; all types 0.
  static SpecialTokensTemplate roberta(int32_t cls, int32_t sep);
};

// How much of each text stays when both share `budget`: a shorter one that fits in its half stays
// whole, else the halves, with the odd one to the longer, or to the second if equal
// (tokenizers/src/utils/truncation.rs, LongestFirst).
struct Lengths {
  size_t first, second;
};
Lengths longest_first(Lengths have, size_t budget);

// What all our tokenizers share: cuts the tokens of the texts to the length, puts them into the
// template, and turns spans into code points.
class TemplateTokenizer : public Tokenizer {
 public:
  Encoding encode(std::string_view text, std::optional<std::string_view> text_pair,
                  const EncodeOptions& options) const final;

 protected:
  explicit TemplateTokenizer(SpecialTokensTemplate special) : special_(std::move(special)) {}

  // Appends the tokens of `text`, valid UTF-8, until they are full or soon after.
  virtual void append(std::string_view text, Tokens& tokens) const = 0;

 private:
  Tokens tokens_of(std::string_view text, size_t enough, bool with_spans) const;

  SpecialTokensTemplate special_;
};

}  // namespace berth
