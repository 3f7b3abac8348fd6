#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// One tokenized example, special tokens included.
struct Encoding {
  std::vector<int32_t> input_ids;
  std::vector<int32_t> token_type_ids;  // 0, and 1 for the second text with its separator
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
                          int32_t max_length) const = 0;

  // The files that rebuild this tokenizer beside a model, as (name, content): vocab.txt,
  // tokenizer_config.json, special_tokens_map.json, tokenizer.json.
  struct File {
    std::string name, content;
  };
  virtual std::vector<File> files() const = 0;
};

}  // namespace berth
