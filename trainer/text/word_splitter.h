#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/text/unicode.h"
#include "trainer/text/wordpiece.h"

namespace berth {

// A sink for a Normalizer that splits text as BertPreTokenizer does: it collects the words between
// whitespace, and takes each punctuation character as a word of its own. Not thread-safe.
//
// `take(word, num_chars, hash)` receives each word and returns false to stop. The bytes of a word
// are complete only if it has at most `max_chars` characters. They are valid until take() returns.
// `hash` is WordPiece::hash_step() applied to them, starting with WordPiece::kHashSeed.
template <typename Take>
class WordCollector {
 public:
  WordCollector(size_t max_chars, Take take)
      : max_chars_(max_chars), take_(std::move(take)), word_(4 * max_chars) {}

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

  // Passes on the current word, if there is one. Call it after the last character.
  bool end_word() {
    if (chars_ == 0) return true;
    const bool goes_on = take_(std::string_view(word_.data(), size_bytes_), chars_, hash_);
    chars_ = size_bytes_ = 0;
    hash_ = WordPiece::kHashSeed;
    return goes_on;
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

  const size_t max_chars_;
  Take take_;
  std::vector<char> word_;
  size_t size_bytes_ = 0;
  size_t chars_ = 0;
  uint64_t hash_ = WordPiece::kHashSeed;
};

// Returns a WordCollector that appends the ids of the words to `ids`. It stops once `ids` holds
// `enough` ids, or soon after. Both arguments must outlive it.
inline auto word_splitter(const WordPiece& wordpiece, size_t enough, std::vector<int32_t>& ids) {
  const size_t max_chars = wordpiece.options().max_input_chars_per_word;
  return WordCollector(max_chars, [&wordpiece, max_chars, enough, &ids](
                                      std::string_view word, size_t num_chars, uint64_t hash) {
    if (num_chars <= max_chars) {
      wordpiece.append(word, hash, ids);
    } else {
      ids.push_back(wordpiece.unk_id());
    }
    return ids.size() < enough;
  });
}

}  // namespace berth
