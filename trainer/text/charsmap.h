#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The replacements that a SentencePiece model brings along (precompiled_charsmap):
//   u32 LE size of the trie in bytes | Darts double array, u32 LE units | "replacement\0" ...
// A unit: label in bits 0-7 and 31, has a leaf in bit 8, offset in bits 10-30, times 256 with bit
// 9; a leaf: bit 31 and the place of the replacement. (spm/src/normalizer.cc, darts-clone)
// Immutable, thread-safe.
class Charsmap {
 public:
  // Throws kCorrupt where the sizes do not fit. An empty blob replaces nothing.
  explicit Charsmap(std::string_view blob);

  struct Match {
    size_t size_bytes = 0;  // of the text; 0: nothing matches
    std::string_view replacement;
  };
  Match longest(std::string_view text) const;   // as libsentencepiece
  Match shortest(std::string_view text) const;  // as `tokenizers`, which takes the first

  // No ASCII character but controls begins a match on its own.
  bool leaves_ascii() const { return leaves_ascii_; }

 private:
  template <typename Visit>
  void search(std::string_view text, Visit visit) const;
  std::string_view replacement_at(uint32_t place) const;

  std::vector<uint32_t> units_;
  std::string replacements_;  // ends with NUL
  bool leaves_ascii_ = true;
};

}  // namespace berth
