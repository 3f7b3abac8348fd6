#include "trainer/data/batcher.h"

#include <algorithm>
#include <numeric>

namespace berth {
namespace {

// What the features of a batch say, in the form of their task.
class LabelPacker {
 public:
  explicit LabelPacker(Task task) : task_(task) {}

  // `first_token` is where the features' tokens begin in the batch.
  void add(const Features& features, int32_t first_token) {
    const std::vector<int32_t>& classes = features.classes;
    if (task_ == Task::kQuestionAnswering) {
      answers_.starts.push_back(first_token + classes[0]);
      answers_.ends.push_back(first_token + classes[1]);
    } else {
      classes_.insert(classes_.end(), classes.begin(), classes.end());
      targets_.insert(targets_.end(), features.targets.begin(), features.targets.end());
    }
    const size_t weighed = task_ == Task::kTokenClassification ? classes.size() : 1;
    weights_.insert(weights_.end(), weighed, features.weight);
  }

  void finish(PackedBatch& batch) {
    switch (task_) {
      case Task::kRegression:
        batch.labels = PackedBatch::Scores{std::move(targets_)};
        break;
      case Task::kMultiLabel:
        batch.labels = PackedBatch::ClassSets{std::move(targets_)};
        break;
      case Task::kTokenClassification:
        batch.labels = PackedBatch::TokenClasses{std::move(classes_)};
        break;
      case Task::kQuestionAnswering:
        batch.labels = std::move(answers_);
        break;
      default:
        batch.labels = std::move(classes_);
    }
    const bool all_alike =
        std::all_of(weights_.begin(), weights_.end(), [](float weight) { return weight == 1; });
    if (!all_alike) batch.weights = std::move(weights_);
  }

 private:
  const Task task_;
  PackedBatch::Classes classes_;
  PackedBatch::Answers answers_;
  std::vector<float> targets_, weights_;
};

}  // namespace

PackedBatch pack(Dataset& data, std::span<const int64_t> indices) {
  PackedBatch batch;
  LabelPacker labels(data.task());
  for (const int64_t index : indices) {
    const Features& features = data.features(index);
    const size_t first = batch.input_ids.size(), length = features.input_ids.size();
    batch.input_ids.insert(batch.input_ids.end(), features.input_ids.begin(),
                           features.input_ids.end());
    batch.token_type_ids.insert(batch.token_type_ids.end(), features.token_type_ids.begin(),
                                features.token_type_ids.end());
    batch.position_ids.resize(first + length);
    std::iota(batch.position_ids.begin() + static_cast<std::ptrdiff_t>(first),
              batch.position_ids.end(), 0);
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
    if (data.labelled()) labels.add(features, static_cast<int32_t>(first));
  }
  if (data.labelled()) labels.finish(batch);
  return batch;
}

Batcher::Batcher(const BatchOptions& options, Dataset& data)
    : options_(options), data_(data), sampler_(data.size(), data.block_size(), options.seed) {}

UpdateBatch Batcher::next(DataCursor cursor) {
  UpdateBatch update;
  std::vector<int64_t> indices;
  const auto collect = [&] {
    indices.clear();
    const int64_t epoch = cursor.epoch;
    while (static_cast<int64_t>(indices.size()) < options_.batch_size && cursor.epoch == epoch) {
      indices.push_back(sampler_.next(cursor));
    }
  };
  for (const SkippedData& skipped : options_.skipped) {
    if (cursor == skipped.from) cursor = skipped.to;
  }
  update.before = cursor;
  collect();
  const bool is_remainder = static_cast<int64_t>(indices.size()) < options_.batch_size;
  if (options_.drop_remainder && is_remainder && data_.size() >= options_.batch_size) collect();
  const auto examples = static_cast<int64_t>(indices.size());
  uint64_t first_token = 0;
  for (int64_t part = 0; part < options_.micro_batches; ++part) {
    const int64_t begin = examples * part / options_.micro_batches;
    const int64_t end = examples * (part + 1) / options_.micro_batches;
    if (begin == end) continue;
    PackedBatch batch = pack(data_, std::span(indices).subspan(static_cast<size_t>(begin),
                                                               static_cast<size_t>(end - begin)));
    batch.first_token = first_token;
    batch.first_sequence = static_cast<uint64_t>(begin);
    first_token += static_cast<uint64_t>(batch.num_tokens());
    update.micro_batches.push_back(std::move(batch));
  }
  update.examples = examples;
  update.tokens = static_cast<int64_t>(first_token);
  update.after = cursor;
  return update;
}

}  // namespace berth
