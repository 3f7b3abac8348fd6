#pragma once

#include <cstdint>
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

}  // namespace berth
