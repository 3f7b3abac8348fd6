#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer.h"
#include "trainer/text/unicode.h"

namespace berth {

// Says for each byte of a changed text which bytes of the original text it came from. Neighbouring
// bytes are stored as one run of 12 bytes in two cases: they all came from the same bytes, or each
// came from one byte and these are neighbours, too. Not thread-safe, not even to read: it remembers
// the position of the last lookup.
class Origins {
 public:
  // The next `count` bytes all came from `origin`.
  void add(size_t count, Span origin);
  // The origin of a byte that was added. Asking for neighbouring bytes one after another is fast.
  Span of(size_t byte) const;

 private:
  static constexpr uint32_t kOneByOne = UINT32_MAX;
  struct Run {
    uint32_t begin;  // its first byte; it ends where the next one begins
    Span origin;  // of all its bytes; or, if `end` is kOneByOne, only the begin for its first one
  };

  size_t run_of(size_t byte) const;

  std::vector<Run> runs_;
  uint32_t size_ = 0;
  mutable size_t asked_ = 0;  // the run that was asked for last
};

// One character of a changed text, and how it relates to the old text. `change` is 0 if it replaces
// one character, and 1 if it was inserted. It is -n if it replaces one character and the n
// characters after that were removed.
struct ChangedCharacter {
  char32_t c;
  int32_t change;
};

// Throws kBadData if a text of `original` bytes must not become one of `normalized` bytes.
void require_normalized_size(size_t original, size_t normalized);

// A text that is being normalized. It is valid UTF-8. If `aligned`, it remembers for each byte
// which bytes of the original text it came from, like NormalizedString in `tokenizers`. Spans count
// bytes. A Rewriting changes it. Not thread-safe.
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

 private:
  friend class Rewriting;

  Span origin_of_byte(size_t i) const;

  std::string_view original_;
  size_t shift_;
  bool aligned_;
  bool changed_ = false;
  std::string own_;
  Origins origins_;  // of own_, if aligned
};

// Writes what shall take the place of the text of an AlignedText, from front to back: either by
// add(), which goes through the old text by itself, or by keep() and insert(). Nothing is copied
// before the first difference. Each call throws kBadData if the new text is too much to make of the
// original, because a tokenizer may come from somebody else. Not thread-safe.
class Rewriting {
 public:
  // `text` must outlive this and keeps its old text until finish().
  explicit Rewriting(AlignedText& text);

  void add(ChangedCharacter next);
  // The bytes [begin, end) of the old text, which begin behind the bytes that stayed before.
  void keep(size_t begin, size_t end);
  // `bytes`, with the origin of the byte `like` of the old text.
  void insert(std::string_view bytes, size_t like);
  // Bytes of the old text for which no call was made are left out. Called once, at the end.
  void finish();

 private:
  void differ();
  void copy(size_t begin, size_t end);
  void require_room() const;
  Span skip(int32_t characters);

  AlignedText& text_;
  const std::string_view old_;
  size_t place_ = 0;      // the bytes of the old text before it have been gone through
  bool differs_ = false;  // if not, the new text equals the old one up to place_
  std::string own_;
  Origins origins_;
};

// Keeps only the characters for which `keep` returns true.
template <typename Keep>
void filter(AlignedText& text, Keep keep) {
  Rewriting rewriting(text);
  const std::string_view old = text.text();
  size_t begin = 0;
  for (size_t i = 0; i < old.size();) {
    const DecodedCharacter next = decode_at(old, i);
    if (!keep(next.code_point)) {
      rewriting.keep(begin, i);
      begin = i + next.size_bytes;
    }
    i += next.size_bytes;
  }
  rewriting.keep(begin, old.size());
  rewriting.finish();
}

}  // namespace berth
