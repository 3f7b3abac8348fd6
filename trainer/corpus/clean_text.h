#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// What the cleaning of a corpus needs to know of each character, as bits. Immutable and
// thread-safe. Use shared(), because construction looks at 200,000 characters.
class CorpusCharacters {
 public:
  enum Kind : uint8_t {
    kBlank = 1,      // cleaning makes it a space
    kLineEnd = 2,    // cleaning makes it a line feed
    kControl = 4,    // cleaning removes it
    kUnstable = 8,   // NFC changes it, moves it, or may join it to the character before it
    kLetter = 16,    // a letter, or a mark such as an accent
    kInWord = 32,    // part of a word: letters, marks, digits and the joiners between them
    kIdeograph = 64  // a word of its own
  };

  CorpusCharacters();
  static const CorpusCharacters& shared();

  uint8_t of(char32_t c) const { return c < kinds_.size() ? kinds_[c] : kind_of(c); }

 private:
  // Characters above these planes are rare. Their kinds are computed each time.
  static constexpr char32_t kTabled = 0x30000;

  static uint8_t kind_of(char32_t c);

  std::vector<uint8_t> kinds_;
};

// Writes the cleaned form of `text`, which is UTF-8, to `cleaned`:
//   - controls and invisible characters are removed (CorpusCharacters::kControl), and so are
//     malformed bytes; the joiners U+200C and U+200D stay, which Persian and emoji need;
//   - each run of blanks and line ends becomes one line feed where it has a line end, otherwise one
//     space; those at both ends are removed;
//   - the result is in Unicode's normalization form C (UAX 15), but for the order of several marks
//   on
//     one letter where one of them is newer than Unicode 8.
// Cleaning a cleaned text does not change it. Thread-safe.
void clean_text(std::string_view text, std::string& cleaned);

// A word of a text: a run of letters, marks and digits, or one ideograph. Words that differ in case
// only have the same hash.
struct Word {
  uint64_t hash;
  uint32_t characters;
};

struct TextMeasures {
  uint64_t characters = 0;  // all
  uint64_t visible = 0;     // without spaces and line feeds
  uint64_t letters = 0;     // letters and marks
};

// Replaces `words` by the words of a cleaned text (clean_text.h), in their order, and counts
// characters. Thread-safe.
TextMeasures find_words(std::string_view text, std::vector<Word>& words);

}  // namespace berth
