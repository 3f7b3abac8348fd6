#pragma once

#include <cstdint>

#include "trainer/text/tokenizer.h"

namespace berth {

// A checksum by which token ids and the tokenizer that made them are recognized as belonging
// together: of all tokens in the order of their ids, and of the ids of a text that shows how the
// tokenizer treats case, accents, digits, punctuation and other scripts. The files of the tokenizer
// are not compared, because one vocabulary may come in several forms.
uint32_t tokenizer_checksum(const Tokenizer& tokenizer);

}  // namespace berth
