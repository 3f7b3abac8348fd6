#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trainer/text/unicode.h"
#include "trainer/text/wordpiece.h"

namespace berth {

// A sink for a Normalizer that does the work of BertPreTokenizer and WordPiece. It collects the
// words between whitespace, takes each punctuation character as a word of its own, and appends
// their ids. Both arguments must outlive it. Not thread-safe; use one for each text.
class WordSplitter {
 public:
  // Stops once `ids` holds `enough` ids, or soon after.
  WordSplitter(const WordPiece& wordpiece, size_t enough, std::vector<int32_t>& ids)
      : wordpiece_(wordpiece),
        enough_(enough),
        max_chars_(wordpiece.options().max_input_chars_per_word),
        ids_(ids),
        word_(4 * size_t{max_chars_}) {}

  bool ascii(char c) {
    const AsciiKind kind = kAsciiKinds[static_cast<unsigned char>(c)];
    if (kind == kLetter) {
      if (chars_++ < max_chars_) add_byte(c);
      return true;
    }
    return end_word() && (kind == kSpace || single(c));
  }

  bool character(char32_t c, uint8_t classes) {
    if (classes & kWhitespace) return end_word();
    const bool alone = classes & kPunctuation;
    if (alone && !end_word()) return false;
    if (chars_++ < max_chars_) {
      char bytes[4];
      const size_t count = encode_utf8(c, bytes);
      for (size_t i = 0; i < count; ++i) add_byte(bytes[i]);
    }
    return !alone || end_word();
  }

  // Appends the ids of the current word, if there is one. Call it after the last character.
  bool end_word() {
    if (chars_ == 0) return true;
    if (chars_ <= max_chars_) {
      wordpiece_.append({word_.data(), size_bytes_}, hash_, ids_);
    } else {
      ids_.push_back(wordpiece_.unk_id());
    }
    chars_ = size_bytes_ = 0;
    hash_ = WordPiece::kHashSeed;
    return ids_.size() < enough_;
  }

 private:
  enum AsciiKind : uint8_t { kLetter, kSpace, kPunctuationMark };

  static constexpr auto kAsciiKinds = [] {
    std::array<AsciiKind, 128> kinds{};
    for (unsigned c = 0; c < 128; ++c) {
      const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
      if (c == ' ' || (c >= 9 && c <= 13)) {
        kinds[c] = kSpace;
      } else if (c > ' ' && c < 127 && !plain) {
        kinds[c] = kPunctuationMark;
      }
    }
    return kinds;
  }();

  void add_byte(char byte) {
    word_[size_bytes_++] = byte;
    hash_ = WordPiece::hash_step(hash_, byte);
  }

  bool single(char c) {
    chars_ = 1;
    add_byte(c);
    return end_word();
  }

  const WordPiece& wordpiece_;
  const size_t enough_;
  const size_t max_chars_;
  std::vector<int32_t>& ids_;
  std::vector<char> word_;
  size_t size_bytes_ = 0;
  size_t chars_ = 0;
  uint64_t hash_ = WordPiece::kHashSeed;
};

}  // namespace berth
