#include "entrypoint/training/token_lengths.h"

#include <algorithm>
#include <vector>

#include "entrypoint/job/labelled_data.h"
#include "trainer/data/dataset.h"
#include "trainer/model/task.h"

namespace berth {
namespace {

constexpr size_t kMostRows = 1000, kMostSequences = 10'000;
constexpr size_t kMostBytes = size_t{4} << 20;  // of texts, so that counting takes about a second

// Rows that are evenly spaced over those to train on, as many as have kMostBytes together.
std::vector<uint32_t> sampled_rows(const TrainingRows& rows) {
  const std::vector<uint32_t>& all = rows.split.train;
  const size_t count = std::min(all.size(), kMostRows);
  std::vector<uint32_t> sample;
  size_t bytes = 0;
  for (size_t i = 0; i < count && bytes < kMostBytes; ++i) {
    const uint32_t row = all[i * all.size() / count];
    const Example example = rows.train.table->read(row);
    for (const std::string& text : example.texts) bytes += text.size();
    bytes += example.token_ids.size();
    if (bytes < kMostBytes || sample.empty()) sample.push_back(row);
  }
  return sample;
}

}  // namespace

bool become_windows(const TrainingInputs& inputs) {
  const InputKind kind = traits(inputs.rows.task).inputs;
  return kind == InputKind::kQuestion || kind == InputKind::kDocument;
}

TokenLengths window_lengths(const TrainingInputs& inputs, Dataset& train) {
  TokenLengths found{.max_seq_length = inputs.settings().data.max_seq_length, .are_windows = true};
  const int64_t all = train.size(), count = std::min<int64_t>(all, kMostSequences);
  for (int64_t i = 0; i < count; ++i) {
    found.lengths.push_back(static_cast<double>(train.length(i * all / count)));
  }
  return found;
}

TokenLengths count_token_lengths(const TrainingInputs& inputs) {
  const TrainingRows& rows = inputs.rows;
  TokenLengths found{.max_seq_length = inputs.settings().data.max_seq_length};
  Settings settings = inputs.settings();
  settings.data.max_seq_length = kLongestSequence;
  const LabelledData examples(rows.train, rows.task, rows.labels, /*wants_labels=*/false, settings,
                              *inputs.model.tokenizer);
  Dataset data = examples.rows(sampled_rows(rows));
  for (int64_t i = 0; i < data.size(); ++i) {
    const Features& features = data.features(i);
    if (features.ends.empty()) {
      found.lengths.push_back(static_cast<double>(features.input_ids.size()));
      continue;
    }
    int32_t begin = 0;
    for (const int32_t end : features.ends) {
      found.lengths.push_back(static_cast<double>(end - begin));
      begin = end;
    }
  }
  return found;
}

}  // namespace berth
