#pragma once

#include <string_view>
#include <vector>

#include "trainer/text/aligned_text.h"

namespace berth {

// Unicode's normalization forms (UAX 15) of valid UTF-8. Each character comes with its change, as
// in the Rust crate unicode-normalization-alignments.
std::vector<ChangedCharacter> canonical_decomposition(std::string_view text);   // NFD
std::vector<ChangedCharacter> compatible_decomposition(std::string_view text);  // NFKD
// Turns NFD into NFC, and NFKD into NFKC.
std::vector<ChangedCharacter> composition(const std::vector<ChangedCharacter>& decomposed);

}  // namespace berth
