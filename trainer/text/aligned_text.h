#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/template_tokenizer.h"
#include "trainer/text/unicode.h"

namespace berth {

// One character of a changed text, and how it relates to the old text. `change` is 0 if it replaces
// one character, 1 if it was inserted, and -n if it replaces one character and the n characters
// after that were removed.
struct ChangedCharacter {
  char32_t c;
  int32_t change;
};

// Throws kBadData if a text of `original` bytes must not become one of `normalized` bytes.
void require_normalized_size(size_t original, size_t normalized);

// A text that is being normalized. It is valid UTF-8. If `aligned`, it remembers for each byte
// which bytes of the original text it came from, like NormalizedString in `tokenizers`. Spans count
// bytes. Not thread-safe.
class AlignedText {
 public:
  // `original` must outlive this object. `shift` is its offset within the larger text that origins
  // refer to.
  AlignedText(std::string_view original, size_t shift, bool aligned);

  // The bytes [begin, end) of `whole`.
  AlignedText(const AlignedText& whole, size_t begin, size_t end);

  std::string_view text() const { return changed_ ? std::string_view(own_) : original_; }
  bool aligned() const { return aligned_; }

  // Returns the bytes of the original text that [begin, end) came from, or {} if the range is
  // empty.
  Span origin(size_t begin, size_t end) const;

  // Throws kBadData if a text of `size` bytes would be too much to make of the original: a
  // tokenizer may come from somebody else. Whoever inserts text of any length calls it before it
  // does.
  void require_room(size_t size) const;

  // Replaces the text by `characters`. The first `removed` characters of the old text were removed.
  void transform(const std::vector<ChangedCharacter>& characters, size_t removed = 0);

  // Keeps only the characters for which `keep` returns true.
  template <typename Keep>
  void filter(Keep keep);

  // Replaces the text by a sequence of parts. Each part is a range of the old text or an inserted
  // text. Throws what require_room() throws.
  struct Part {
    size_t begin, end;          // a range of the old text
    std::string_view inserted;  // if not empty, replaces the range;
    size_t like;                // its origin is that of this byte (SIZE_MAX: {0, 0})
  };
  void rebuild(const std::vector<Part>& parts);

 private:
  Span origin_of_byte(size_t i) const;

  std::string_view original_;
  size_t shift_;
  bool aligned_;
  bool changed_ = false;
  std::string own_;
  std::vector<Span> origins_;  // for each byte of own_, if aligned
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
  if (begin == 0) return;  // nothing was removed
  if (old.size() > begin) parts.push_back({begin, old.size(), {}, 0});
  rebuild(parts);
}

}  // namespace berth
