#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The replacements that are stored in a SentencePiece model (precompiled_charsmap):
//   u32 LE size of the trie in bytes | Darts double array, u32 LE units | "replacement\0" ...
// A unit has its label in bits 0-7 and 31, and a flag for "has a leaf" in bit 8. Its offset is in
// bits 10-30, multiplied by 256 if bit 9 is set. A leaf has bit 31 set and contains the position of
// the replacement. (spm/src/normalizer.cc, darts-clone) Immutable and thread-safe.
class Charsmap {
 public:
  // Throws kCorrupt if the sizes are inconsistent. An empty blob has no replacements.
  explicit Charsmap(std::string_view blob);

  struct Match {
    size_t size_bytes = 0;  // bytes of the text that match; 0: no match
    std::string_view replacement;
  };
  Match longest(std::string_view text) const;   // like libsentencepiece
  Match shortest(std::string_view text) const;  // like `tokenizers`, which takes the first match

  // Whether no printable ASCII character is replaced on its own.
  bool leaves_ascii() const { return leaves_ascii_; }

 private:
  template <typename Visit>
  void search(std::string_view text, Visit visit) const;
  std::string_view replacement_at(uint32_t place) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // ends with a zero byte
  bool leaves_ascii_ = true;
};

}  // namespace berth
