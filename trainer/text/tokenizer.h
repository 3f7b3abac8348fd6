#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/error.h"

namespace berth {

// A part of a text: [begin, end), in Unicode code points unless stated otherwise.
struct Span {
  uint32_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};
inline Span span_of(size_t begin, size_t end) {
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

// One tokenized example, special tokens included.
struct Encoding {
  std::vector<int32_t> input_ids;
  std::vector<int32_t> token_type_ids;  // 0; 1 for the second text and its separator
  // If requested, the part of its own text that each id stands for; {0, 0} for special tokens that
  // were added. Malformed UTF-8 counts as the U+FFFD that it is read as.
  std::vector<Span> offsets;
};

struct EncodeOptions {
  EncodeOptions(int32_t length)
      : max_length(length) {}  // implicit, so that a length alone can be passed

  int32_t max_length;  // maximum number of ids, special tokens included
  bool add_special_tokens = true;
  bool with_offsets = false;  // slower
  // Where the first text consists of words, each with a space before it: where each word ends, in
  // bytes. The words of which takes_no_space() is true are then tokenized without their space.
  std::span<const size_t> word_ends{};
};

// Converts text to ids. Immutable and thread-safe.
//
// A text is tokenized as a whole before it is truncated, so memory grows with the text and not with
// max_length. The tokens take most of it: 16 bytes for each. For each byte of a text, --mode
// tokenize held at most 21 bytes with WordPiece and 47 with byte-level BPE. It held at most 34
// bytes with unigram, and 54 with SentencePiece's BPE. The texts had 2 to 4 MB: words, text without
// spaces, one repeated letter, and compatibility characters. The vocabularies were the small ones
// of the tests, where most tokens stand for 1 to 2 bytes. A text of U+FDFA, which NFKD makes 11
// times as long, has 6 tokens for each byte with such a vocabulary: unigram held 158 bytes for each
// byte of it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int32_t vocab_size() const = 0;

  // Encodes a text or a pair of texts, with the model's special tokens. Truncates to `max_length`
  // ids, longest text first, as `tokenizers` does (tokenizers/src/utils/truncation.rs). Accepts any
  // bytes; malformed UTF-8 is read as U+FFFD. Throws kUsage if even the special tokens do not fit.
  virtual Encoding encode(std::string_view text, std::optional<std::string_view> text_pair,
                          const EncodeOptions& options) const = 0;

  // Whether token_type_ids are ever other than 0.
  virtual bool has_token_types() const { return true; }

  // Makes the first pair that is encoded log this warning. Called before other threads encode.
  virtual void warn_at_pairs(const std::string& /*warning*/) {}

  // Whether a space before `word` would be a token of its own, which transformers does not make
  // with is_split_into_words: the word is empty, or begins with a space or an added token. False
  // where no token begins with a space, as with WordPiece; "" asks whether any token does.
  virtual bool takes_no_space(std::string_view /*word*/) const { return false; }

  // The token as the vocabulary writes it ("##ing", "Ġthe"), or "" if no token has this id.
  virtual std::string token(int32_t id) const = 0;

  // The files from which this tokenizer can be rebuilt; they are exported beside a model. For BERT
  // these are vocab.txt, tokenizer_config.json, special_tokens_map.json and tokenizer.json; for
  // others, the files it was loaded from.
  struct File {
    std::string name, content;
  };
  virtual std::vector<File> files() const = 0;
};

// A checksum that shows whether token ids were made by a tokenizer. It covers all tokens in the
// order of their ids, and the ids of a sample text. The sample shows how the tokenizer treats case,
// accents, digits, punctuation and other scripts. The files of the tokenizer are not compared,
// because one vocabulary may come in several forms.
uint32_t tokenizer_checksum(const Tokenizer& tokenizer);

// `config_json`, the content of tokenizer_config.json, with the inputs that transformers then makes
// for a model (model_input_names). Its versions have different defaults for the same class.
std::string with_input_names(const std::string& config_json, bool has_token_types);

// Stands in for a missing vocabulary, which rows of token ids do not need. encode() throws
// `reason`.
class NoTokenizer final : public Tokenizer {
 public:
  explicit NoTokenizer(Error reason) : reason_(std::move(reason)) {}
  int32_t vocab_size() const override { return 0; }
  Encoding encode(std::string_view, std::optional<std::string_view>,
                  const EncodeOptions&) const override {
    throw reason_;
  }
  std::string token(int32_t) const override { return ""; }
  std::vector<File> files() const override { return {}; }

 private:
  const Error reason_;
};

}  // namespace berth
