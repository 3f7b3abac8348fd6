#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/charsmap.h"
#include "trainer/text/sentencepiece_model.h"
#include "trainer/text/trie.h"

namespace berth {

// The normalization of a SentencePiece model as libsentencepiece does it (spm/src/normalizer.cc):
// replacements, spaces to U+2581, one put before the text, superfluous ones dropped. What
// `user_defined` names passes untouched. Immutable, thread-safe.
class SentencePieceNormalizer {
 public:
  // `user_defined` outlives it. Throws kCorrupt for a malformed charsmap.
  SentencePieceNormalizer(const SentencePieceModel& model, const Trie& user_defined);

  // Writes the normalized `text`, valid UTF-8. If `origins` is not null it gets, for each byte and
  // for the end, the byte of `text` that it came from.
  void normalize(std::string_view text, std::string& out, std::vector<uint32_t>* origins) const;

 private:
  struct Step {
    std::string_view becomes;
    size_t size_bytes;
  };
  Step next(std::string_view text) const;

  Charsmap charsmap_;
  const Trie& user_defined_;
  bool add_dummy_prefix_, remove_extra_whitespaces_, whitespace_as_suffix_;
  std::string_view space_;  // what a space is written as
};

}  // namespace berth
