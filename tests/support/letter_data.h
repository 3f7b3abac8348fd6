#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/letter_tokenizer.h"
#include "trainer/data/dataset.h"
#include "trainer/model/batch.h"

namespace berth {

// A table of texts, of their second texts if `pairs` are given, and of classes that are numbers.
// Without `labels` the table is unlabelled.
inline std::unique_ptr<ExampleTable> table_of(const std::vector<std::string>& texts,
                                              const std::vector<int32_t>& labels = {},
                                              const std::vector<std::string>& pairs = {}) {
  auto table = std::make_unique<ExampleTable>();
  table->labelled = !labels.empty();
  for (size_t row = 0; row < texts.size(); ++row) {
    Example example{.texts = {texts[row]}};
    if (!pairs.empty()) example.texts.push_back(pairs[row]);
    if (!labels.empty()) {
      example.labels = {table->labels.entry(std::to_string(labels[row]))};
    }
    table->append(example);
  }
  table->finish();
  return table;
}

// "0", "1", ..., `count` of them.
inline std::vector<std::string> number_names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

// A data set over all rows of such a table, with the objects that it borrows. The id of a class is
// its number.
struct TableData {
  TableData(std::unique_ptr<ExampleTable> rows, const Tokenizer& tokenizer, int32_t max_seq_length)
      : table(std::move(rows)),
        maker(make_feature_maker({.max_seq_length = max_seq_length,
                                  .labelled = table->labelled,
                                  .classes = table->labels.classes(number_names(100)),
                                  .num_classes = 100},
                                 tokenizer)) {
    std::vector<uint32_t> all(table->rows());
    std::iota(all.begin(), all.end(), 0u);
    dataset = some(all);
  }

  std::unique_ptr<Dataset> some(const std::vector<uint32_t>& rows) const {
    return std::make_unique<Dataset>(*table, rows, Task::kSequenceClassification, *maker,
                                     table->labelled);
  }

  std::unique_ptr<ExampleTable> table;
  std::unique_ptr<FeatureMaker> maker;
  std::unique_ptr<Dataset> dataset;
};

// `rows` texts of one to seven letters with a class that a model can learn: 1 if the first letter
// is in the second half of the alphabet.
struct LetterData {
  explicit LetterData(int rows, int32_t max_seq_length = 16, bool labelled = true) {
    std::vector<std::string> texts;
    for (int row = 0; row < rows; ++row) {
      std::string text;
      for (int i = 0; i <= row % 7; ++i) {
        text += static_cast<char>('a' + (row * 11 + i * 5) % 26);
      }
      labels.push_back(text[0] >= 'n' ? 1 : 0);
      texts.push_back(std::move(text));
    }
    if (!labelled) labels.clear();
    data = std::make_unique<TableData>(table_of(texts, labels), tokenizer, max_seq_length);
    dataset = data->some(all_rows());
  }

  std::vector<uint32_t> all_rows() const {
    std::vector<uint32_t> all(data->table->rows());
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }

  std::vector<int32_t> labels;
  LetterTokenizer tokenizer;
  std::unique_ptr<TableData> data;
  std::unique_ptr<Dataset> dataset;
};

inline const PackedBatch::Classes& classes_of(const PackedBatch& batch) {
  return std::get<PackedBatch::Classes>(batch.labels);
}

}  // namespace berth
