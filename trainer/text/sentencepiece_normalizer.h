#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/charsmap.h"
#include "trainer/text/sentencepiece_model.h"
#include "trainer/text/trie.h"

namespace berth {

// The normalization that a SentencePiece model defines, as libsentencepiece does it
// (spm/src/normalizer.cc). It applies replacements, turns spaces into U+2581, adds one before the
// text, and removes superfluous ones. Texts in `user_defined` are left unchanged. Immutable and
// thread-safe.
class SentencePieceNormalizer {
 public:
  // `user_defined` must outlive this object. Throws kCorrupt for a malformed charsmap.
  SentencePieceNormalizer(const SentencePieceModel& model, const Trie& user_defined);

  // Writes the normalized `text`, which must be valid UTF-8, to `out`. If `origins` is not null, it
  // receives for each byte of `out`, and for its end, the byte of `text` that it came from.
  // Throws what require_normalized_size() throws.
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
  std::string_view space_;  // how a space is written
};

}  // namespace berth
