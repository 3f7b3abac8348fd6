#pragma once

#include <string>
#include <vector>

#include "tests/trainer/text/tokenizer_fixture.h"
#include "tests/trainer/text/training/words_in_table.h"
#include "trainer/text/training/tokenizer_trainer.h"

namespace berth {

inline TrainedTokenizer train(const std::vector<std::string>& rows,
                              const TokenizerTrainingOptions& options = {}, int threads = 1) {
  ThreadPool pool(threads);
  return train_tokenizer(read_rows(rows), options, pool);
}

inline Files files_of(const TrainedTokenizer& trained) {
  Files files;
  for (const Tokenizer::File& file : trained.files) files[file.name] = file.content;
  return files;
}

inline TokenizerTrainingOptions sized(int64_t vocab_size, int64_t min_frequency = 1,
                                      TokenizerType type = TokenizerType::kWordPiece) {
  TokenizerTrainingOptions options;
  options.type = type;
  options.vocab_size = vocab_size;
  options.min_frequency = min_frequency;
  return options;
}

// Rows of many words, of which some are frequent.
inline std::vector<std::string> rows_of_many_words() {
  std::vector<std::string> rows;
  for (int i = 0; i < 500; ++i) {
    rows.push_back("row" + std::to_string(i * i) + " of word" + std::to_string(i % 37));
  }
  return rows;
}

}  // namespace berth
