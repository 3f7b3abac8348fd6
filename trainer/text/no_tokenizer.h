#pragma once

#include <utility>

#include "storage/base/error.h"
#include "trainer/text/tokenizer.h"

namespace berth {

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
