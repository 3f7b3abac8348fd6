#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// Part of a text: [begin, end), in Unicode code points where nothing else is said.
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
  std::vector<int32_t> token_type_ids;  // 0, and 1 for the second text with its separator
  // What part of its own text each id stands for, if asked for: {0, 0} for the special tokens that
  // were added. A byte of no character (malformed UTF-8) counts as the U+FFFD that it reads as.
  std::vector<Span> offsets;
};

struct EncodeOptions {
  EncodeOptions(int32_t length) : max_length(length) {}  // a length alone is options enough

  int32_t max_length;  // ids, special tokens included
  bool add_special_tokens = true;
  bool with_offsets = false;  // takes longer
};

// Text to ids. Immutable and thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int32_t vocab_size() const = 0;

  // `text`, or the pair of both, with the model's special tokens, cut to `max_length` ids longest
  // first as `tokenizers` does (reference: tok/utils/truncation.rs). Any bytes are accepted:
  // malformed UTF-8 reads as U+FFFD. Throws kUsage where the special tokens alone do not fit.
  virtual Encoding encode(std::string_view text, std::optional<std::string_view> text_pair,
                          const EncodeOptions& options) const = 0;

  // The token as its vocabulary writes it ("##ing", "Ġthe"); "" for an id that has none.
  virtual std::string token(int32_t id) const = 0;

  // The files that rebuild this tokenizer beside a model, as (name, content): for BERT vocab.txt,
  // tokenizer_config.json, special_tokens_map.json and tokenizer.json, else those it was made of.
  struct File {
    std::string name, content;
  };
  virtual std::vector<File> files() const = 0;
};

}  // namespace berth
