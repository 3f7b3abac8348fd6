#pragma once

#include <algorithm>
#include <atomic>

#include "trainer/text/tokenizer.h"

namespace berth {

// A tokenizer whose tokens are the letters: a..z have the ids 3..28, [MASK] is 0, [CLS] is 1 and
// [SEP] is 2.
// Other characters are ignored. Long texts are cut at the end, [SEP] included.
class LetterTokenizer final : public Tokenizer {
 public:
  int32_t vocab_size() const override { return 29; }

  Encoding encode(std::string_view text, std::optional<std::string_view> text_pair,
                  const EncodeOptions& options) const override {
    ++calls;
    Encoding encoding;
    if (!options.add_special_tokens) {
      append_letters(encoding, text);
      encoding.token_type_ids.resize(encoding.input_ids.size(), 0);
      return encoding;
    }
    encoding.input_ids.push_back(1);
    append(encoding, text);
    encoding.token_type_ids.resize(encoding.input_ids.size(), 0);
    if (text_pair) append(encoding, *text_pair);
    const size_t length =
        std::min(encoding.input_ids.size(), static_cast<size_t>(options.max_length));
    encoding.input_ids.resize(length);
    encoding.token_type_ids.resize(length, 1);
    return encoding;
  }
  std::string token(int32_t id) const override {
    if (id < 3) return id == 0 ? "[MASK]" : "";
    return std::string(1, static_cast<char>('a' + id - 3));
  }
  std::vector<File> files() const override { return {{"vocab.txt", "letters\n"}}; }

  mutable std::atomic<int> calls = 0;  // the calls of encode()

 private:
  static void append(Encoding& encoding, std::string_view text) {
    append_letters(encoding, text);
    encoding.input_ids.push_back(2);
  }
  static void append_letters(Encoding& encoding, std::string_view text) {
    for (const char letter : text) {
      if (letter >= 'a' && letter <= 'z') encoding.input_ids.push_back(3 + letter - 'a');
    }
  }
};

}  // namespace berth
