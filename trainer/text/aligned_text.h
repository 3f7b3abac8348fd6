#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/template_tokenizer.h"
#include "trainer/text/unicode.h"

namespace berth {

// One character of a changed text. `change` is 0 where it takes the place of one character, 1 where
// it is new, -n where it takes the place of one and the n after it are gone.
struct ChangedCharacter {
  char32_t c;
  int32_t change;
};

// A text on its way through normalization: valid UTF-8 which, where asked, remembers for each byte
// what bytes of the original it came from, as NormalizedString of `tokenizers` does. Spans are in
// bytes. Not thread-safe.
class AlignedText {
 public:
  // `original` outlives it. `shift` is where it begins in a larger text that spans shall speak of.
  AlignedText(std::string_view original, size_t shift, bool aligned);

  std::string_view text() const { return changed_ ? std::string_view(own_) : original_; }
  bool aligned() const { return aligned_; }

  // The bytes of the original that [begin, end) came from; {} for nothing.
  Span origin(size_t begin, size_t end) const;

  // The text becomes `characters`; the first `removed` of the old ones are gone.
  void transform(const std::vector<ChangedCharacter>& characters, size_t removed = 0);

  // Keeps the characters that `keep` holds true.
  template <typename Keep>
  void filter(Keep keep);

  // The text becomes pieces of itself and of `insertions`, in order.
  struct Part {
    size_t begin, end;          // of the old text
    std::string_view inserted;  // where not empty: this instead, as if it came from...
    size_t like;                // ...this byte of the old text (SIZE_MAX: from {0, 0})
  };
  void rebuild(const std::vector<Part>& parts);

 private:
  Span origin_of_byte(size_t i) const;

  std::string_view original_;
  size_t shift_;
  bool aligned_;
  bool changed_ = false;
  std::string own_;
  std::vector<Span> origins_;  // a byte of own_ each, if aligned
};

template <typename Keep>
void AlignedText::filter(Keep keep) {
  std::vector<Part> parts;
  const std::string_view old = text();
  size_t begin = 0;
  for (size_t i = 0; i < old.size();) {
    const DecodedCharacter next = decode_utf8(old.substr(i));
    if (!keep(next.code_point)) {
      if (i > begin) parts.push_back({begin, i, {}, 0});
      begin = i + next.size_bytes;
    }
    i += next.size_bytes;
  }
  if (begin == 0) return;  // nothing went
  if (old.size() > begin) parts.push_back({begin, old.size(), {}, 0});
  rebuild(parts);
}

}  // namespace berth
