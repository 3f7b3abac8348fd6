#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "tests/support/letter_tokenizer.h"
#include "trainer/data/dataset.h"

namespace berth {

// `rows` texts of one to seven letters with a learnable class each: whether the first letter is
// of the alphabet's second half.
struct LetterData {
  explicit LetterData(int rows, int max_seq_length = 16, bool labelled = true) {
    for (int row = 0; row < rows; ++row) {
      std::string text;
      for (int i = 0; i <= row % 7; ++i) {
        text += static_cast<char>('a' + (row * 11 + i * 5) % 26);
      }
      labels.push_back(text[0] >= 'n' ? 1 : 0);
      table.texts.push_back(std::move(text));
    }
    std::vector<uint32_t> all(static_cast<size_t>(rows));
    std::iota(all.begin(), all.end(), 0u);
    if (!labelled) labels.clear();
    dataset = std::make_unique<Dataset>(table, all, labels, tokenizer, max_seq_length);
  }

  TextTable table;
  std::vector<int32_t> labels;
  LetterTokenizer tokenizer;
  std::unique_ptr<Dataset> dataset;
};

}  // namespace berth
