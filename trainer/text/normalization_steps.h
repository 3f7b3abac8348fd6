#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/aligned_text.h"
#include "trainer/text/charsmap.h"
#include "trainer/text/normalizer.h"
#include "trainer/text/unicode_forms.h"

namespace berth {

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
