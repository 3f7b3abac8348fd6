#pragma once

#include <cstdint>

#include "trainer/text/tokenizer.h"

namespace berth {

// A checksum that shows whether token ids were made by a tokenizer. It covers all tokens in the
// order of their ids, and the ids of a sample text. The sample shows how the tokenizer treats case,
// accents, digits, punctuation and other scripts. The files of the tokenizer are not compared,
// because one vocabulary may come in several forms.
uint32_t tokenizer_checksum(const Tokenizer& tokenizer);

}  // namespace berth
