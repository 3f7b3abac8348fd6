#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/aligned_text.h"
#include "trainer/text/normalizer.h"

namespace berth {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

// Passes the characters of the Unicode normalization form (UAX 15) of valid UTF-8 to `sink`, in
// order. Each comes with its change, as in the Rust crate unicode-normalization-alignments. Holds
// no more characters at once than stand between two that are no combining marks.
void to_unicode_form(std::string_view text, UnicodeForm form,
                     const std::function<void(ChangedCharacter)>& sink);

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

// The normalizers of `tokenizers` 0.23 that files of the BERT family use, as functions that change
// a text. They are immutable and thread-safe. A replacement that is not valid UTF-8 reads as
// U+FFFD.
using NormalizationStep = std::function<void(AlignedText&)>;

NormalizationStep in_sequence(std::vector<NormalizationStep> steps);
NormalizationStep bert_normalization(const NormalizerOptions& options);
NormalizationStep unicode_form(UnicodeForm form);
NormalizationStep lower_casing();      // each character by itself
NormalizationStep accent_stripping();  // removes marks, without decomposing characters
NormalizationStep replacing(std::string pattern,
                            std::string content);  // a literal pattern, not empty
NormalizationStep replacing_runs(char c, size_t at_least,
                                 std::string content);    // the pattern "c{at_least,}"
NormalizationStep replacing_spaces(std::string content);  // the pattern "\s{2,}|[\n\r\t]"
NormalizationStep prepending(std::string prefix);         // only to a text that is not empty
NormalizationStep trimming(bool left, bool right);        // removes Unicode White_Space
// Applies the replacements of a Charsmap (normalizers/precompiled.rs), one grapheme cluster at a
// time. A cluster of less than 6 bytes that begins with a match becomes the replacement as a whole.
// In any other cluster each character is looked up by itself.
NormalizationStep precompiled(Charsmap charsmap);

}  // namespace berth
