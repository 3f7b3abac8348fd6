#pragma once

#include <cstdint>

#include "storage/base/thread_pool.h"
#include "trainer/text/training/text_block.h"
#include "trainer/text/training/training_words.h"
#include "trainer/text/training/word_table.h"

namespace berth {

// What was found while the words of a text were counted.
struct TextStatistics {
  uint64_t rows = 0;
  uint64_t bytes = 0;            // without the ends of lines
  uint64_t malformed = 0;        // sequences of bytes that are not UTF-8, each read as U+FFFD
  uint64_t long_words = 0;       // occurrences of words that are too long to train on
  uint64_t words_removed = 0;    // distinct words that were removed to bound the memory
  uint64_t largest_deficit = 0;  // the most occurrences of a word that may be missing for it
};

struct WordCountLimits {
  size_t most_words = size_t{4} << 20;    // distinct words that stay from round to round
  size_t most_bytes = size_t{128} << 20;  // of these words
  size_t round_bytes = size_t{32} << 20;  // of text that is counted between two looks at the limits
};

// Counts the words of all texts on all threads of `pool`, while a thread of its own reads ahead.
//
// Memory is bounded as in lossy counting (Manku and Motwani 2002): after each round, if there are
// more words than the limits allow, the rarest are removed until at most half of the limits are
// used. Words that occur equally often stay or are removed together. The counts do not depend on
// the number of threads. The order of the words does.
ShardedWordTable count_words(const ReadTexts& read, const TrainingWords& words, ThreadPool& pool,
                             TextStatistics& statistics, const WordCountLimits& limits = {});

}  // namespace berth
