#pragma once

#include <string_view>
#include <vector>

#include "trainer/text/aligned_text.h"

namespace berth {

// Unicode's normalization forms of valid UTF-8 (UAX 15), each character with its change, as the
// Rust crate unicode-normalization-alignments tells them.
std::vector<ChangedCharacter> canonical_decomposition(std::string_view text);   // NFD
std::vector<ChangedCharacter> compatible_decomposition(std::string_view text);  // NFKD
// NFC of the one, NFKC of the other.
std::vector<ChangedCharacter> composition(const std::vector<ChangedCharacter>& decomposed);

}  // namespace berth
