#pragma once

#include <cstddef>
#include <vector>

#include "trainer/text/training/word_table.h"

namespace berth {

// Returns the characters of the words, in the order of their code points: the `most` characters
// that occur most often. If characters occur equally often, the smaller code points are taken.
std::vector<char32_t> alphabet_of(const ShardedWordTable& words, size_t most);

}  // namespace berth
