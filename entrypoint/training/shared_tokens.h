#pragma once

#include <string>

#include "trainer/data/dataset.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// A student learns a teacher's hidden states token by token, so both must make the same tokens of
// every text. Both functions throw kUsage where they do not. `teacher_name` is for the error.

// Compares all tokens by their ids, and the ids of a text that shows how case, accents, digits and
// other scripts are treated (tokenizer_checksum()).
void require_same_tokenizer(const Tokenizer& student, const Tokenizer& teacher,
                            const std::string& teacher_name);
// Compares the ids of the same rows as both made them.
void require_same_tokens(Dataset& student, Dataset& teacher, const std::string& teacher_name);

}  // namespace berth
