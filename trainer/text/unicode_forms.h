#pragma once

#include <functional>
#include <string_view>

#include "trainer/text/aligned_text.h"

namespace berth {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

// Passes the characters of the Unicode normalization form (UAX 15) of valid UTF-8 to `sink`, in
// order. Each comes with its change, as in the Rust crate unicode-normalization-alignments. Holds
// no more characters at once than stand between two that are no combining marks.
void to_unicode_form(std::string_view text, UnicodeForm form,
                     const std::function<void(ChangedCharacter)>& sink);

}  // namespace berth
