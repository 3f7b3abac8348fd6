#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/aligned_text.h"
#include "trainer/text/charsmap.h"
#include "trainer/text/normalizer.h"

namespace berth {

// The normalizers of `tokenizers` 0.23 that BERT-family files use, as functions on a text. They are
// immutable and thread-safe. Malformed replacements read as U+FFFD.
using NormalizationStep = std::function<void(AlignedText&)>;

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

NormalizationStep in_sequence(std::vector<NormalizationStep> steps);
NormalizationStep bert_normalization(const NormalizerOptions& options);
NormalizationStep unicode_form(UnicodeForm form);
NormalizationStep lower_casing();      // each character alone
NormalizationStep accent_stripping();  // drops marks; decomposes nothing
NormalizationStep replacing(std::string pattern, std::string content);  // a literal, not empty
NormalizationStep replacing_runs(char c, size_t at_least, std::string content);  // "c{at_least,}"
NormalizationStep replacing_spaces(std::string content);  // "\s{2,}|[\n\r\t]"
NormalizationStep prepending(std::string prefix);         // to a text that is not empty
NormalizationStep trimming(bool left, bool right);        // White_Space
// By grapheme cluster: one below 6 bytes whose beginning is in the map becomes that replacement, in
// others each character is looked up (normalizers/precompiled.rs).
NormalizationStep precompiled(Charsmap charsmap);

}  // namespace berth
