#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace berth {

// The tokens of one text so far, without the special tokens around it.
struct Tokens {
  size_t enough = SIZE_MAX;  // number of ids after which the rest may be skipped
  bool with_spans = false;
  std::vector<int32_t> ids;
  std::vector<Span> spans;  // in bytes of the text; empty unless with_spans

  bool full() const { return ids.size() >= enough; }
  void add(int32_t id, Span span) {
    ids.push_back(id);
    if (with_spans) spans.push_back(span);
  }
};

// One element of a template: a special token or one of the texts, with its token type.
struct TemplatePart {
  enum Kind : uint8_t { kToken, kFirst, kSecond };
  Kind kind = kToken;
  int32_t id = -1;  // used by kToken
  int32_t type_id = 0;
  bool operator==(const TemplatePart&) const = default;
};

// The templates "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]". Each text appears at most once in a
// template.
struct SpecialTokensTemplate {
  std::vector<TemplatePart> single, pair;
  bool cuts_left = false;  // a text that is too long loses its first tokens, not its last ones
  bool operator==(const SpecialTokensTemplate&) const = default;

  bool has_types() const;  // whether any type is not 0
  void remove_types();

  // cls A sep, and cls A sep B sep. Types are 0 up to the first sep, and then 1.
  static SpecialTokensTemplate bert(int32_t cls, int32_t sep);
  // cls A sep, and cls A sep sep B sep. All types are 0.
  static SpecialTokensTemplate roberta(int32_t cls, int32_t sep);
};

// Returns how many tokens of each text remain if both together may have `budget`. If the shorter
// text fits in half the budget, it stays whole. Otherwise each text gets half; an odd token goes to
// the longer text, or to the second if both are equally long (LongestFirst in
// tokenizers/src/utils/truncation.rs).
struct Lengths {
  size_t first, second;
};
Lengths longest_first(Lengths have, size_t budget);

// The base class of all tokenizers here. It truncates the tokens of the texts, inserts them into
// the template, and converts spans from bytes to code points.
class TemplateTokenizer : public Tokenizer {
 public:
  Encoding encode(std::string_view text, std::optional<std::string_view> text_pair,
                  const EncodeOptions& options) const final;
  bool has_token_types() const final { return special_.has_types(); }
  void warn_at_pairs(const std::string& warning) final;
  bool takes_no_space(std::string_view word) const final;

 protected:
  explicit TemplateTokenizer(SpecialTokensTemplate special) : special_(std::move(special)) {}

  // Appends the tokens of `text`, which is valid UTF-8. It may stop once `tokens` is full.
  virtual void append(std::string_view text, Tokens& tokens) const = 0;

  // takes_no_space() of a word that is valid UTF-8.
  virtual bool drops_space(std::string_view /*word*/) const { return false; }

 private:
  Tokens tokens_of(std::string_view text, size_t enough, bool with_spans) const;
  Tokens tokens_of_words(std::string_view text, std::span<const size_t> ends, size_t enough,
                         bool with_spans) const;

  struct PairWarning {
    std::string text;
    std::once_flag once;
  };

  SpecialTokensTemplate special_;
  std::unique_ptr<PairWarning> pair_warning_;  // null: there is none
};

}  // namespace berth
