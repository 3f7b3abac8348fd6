#pragma once

#include <memory>
#include <string_view>

#include "trainer/text/normalizer.h"
#include "trainer/text/training/word_table.h"

namespace berth {

// Splits texts into the words that a tokenizer of one type would see. Immutable and thread-safe.
class TrainingWords {
 public:
  virtual ~TrainingWords() = default;

  // Adds the words of a row to `table`. `row` must be valid UTF-8. Returns how many occurrences of
  // words were left out because they are longer than the longest word to train on.
  virtual uint64_t add(std::string_view row, ShardedWordTable& table) const = 0;
};

// Words as BertTokenizer splits them. Words of more than `max_chars` characters are left out: the
// tokenizer makes them one [UNK].
std::unique_ptr<TrainingWords> bert_training_words(const NormalizerOptions& options,
                                                   size_t max_chars);

// Words as GPT-2's byte-level pre-tokenizer splits them, as plain bytes. Words of more than 1,024
// bytes are left out.
std::unique_ptr<TrainingWords> byte_level_training_words();

// Words as the tokenizer of unigram_files() splits them: each begins with the sign U+2581. The last
// word of a row ends with kRowEndByte, which no other word contains. Words of more than 1,024 bytes
// are left out.
inline constexpr char kRowEndByte = '\n';
std::unique_ptr<TrainingWords> unigram_training_words();

}  // namespace berth
