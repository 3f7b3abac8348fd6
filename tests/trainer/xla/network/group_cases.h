#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/trainer/xla/network/recorded_case.h"
#include "trainer/model/generator.h"

// Small models with batches of texts that belong together.
namespace berth {

// Examples of `group` texts of different lengths, without labels.
inline PackedBatch made_texts(int64_t examples, int32_t group) {
  PackedBatch batch;
  batch.sequences_per_example = group;
  for (int64_t b = 0; b < examples * group; ++b) {
    const int64_t length = 3 + (5 * b) % 4;
    for (int64_t i = 0; i < length; ++i) {
      batch.input_ids.push_back(static_cast<int32_t>(2 + (7 * b + 3 * i + b * i) % 15));
      batch.token_type_ids.push_back(0);
      batch.position_ids.push_back(static_cast<int32_t>(i));
    }
    batch.cu_seqlens.push_back(batch.cu_seqlens.back() + static_cast<int32_t>(length));
  }
  return batch;
}

// The small BERT of another task, with such a batch.
inline RecordedCase case_of_texts(Task task, int64_t examples, int32_t group) {
  RecordedCase recorded("bert-score", /*drops=*/true, made_texts(examples, group));
  ModelConfig& config = recorded.options.config;
  config.task = task;
  config.labels = output_labels(task);
  config.texts_per_row = group;
  return recorded;
}

// 0, 1, ..., as packing numbers the examples of a batch.
inline PackedBatch::Classes places_in_batch(int64_t examples) {
  PackedBatch::Classes places;
  for (int64_t e = 0; e < examples; ++e) places.push_back(static_cast<int32_t>(e));
  return places;
}

// Two Dense modules behind the pooling, which make embeddings of seven numbers.
inline void add_dense_modules(RecordedCase& recorded) {
  ModelConfig& config = recorded.options.config;
  config.pooling = Pooling::kMean;
  config.dense_modules = {{.folder = "2_Dense",
                           .inputs = config.hidden_size,
                           .outputs = 5,
                           .activation = Activation::kTanh},
                          {.folder = "3_Dense", .inputs = 5, .outputs = 7, .has_bias = false}};
}

// Masked tokens, and pairs of which some follow each other. Only ALBERT's head of pairs has
// dropout.
inline RecordedCase case_of_next_sentences(Task task = Task::kNextSentence) {
  RecordedCase recorded(task == Task::kNextSentence ? "bert-masked" : "albert-masked",
                        /*drops=*/true, made_texts(5, 1));
  recorded.options.config.task = task;
  recorded.options.config.labels.clear();
  PackedBatch::MaskedTokens masked;
  for (int64_t t = 0; t < recorded.batch.num_tokens(); t += 2) {
    const std::vector<int32_t>& starts = recorded.batch.cu_seqlens;
    if (std::ranges::find(starts, t) != starts.end()) continue;  // first tokens are never masked
    masked.tokens.push_back(static_cast<int32_t>(t));
    masked.ids.push_back(masked.ids.size() == 1 ? -1 : static_cast<int32_t>(2 + t % 9));
  }
  masked.next_sentences = {0, 1, 1, 0, 1};
  recorded.batch.labels = std::move(masked);
  return recorded;
}

// A discriminator with a generator, and masked tokens.
inline RecordedCase case_of_replaced_tokens() {
  RecordedCase recorded("electra-masked", /*drops=*/true, made_texts(5, 1));
  ModelConfig& config = recorded.options.config;
  config.task = Task::kReplacedTokenDetection;
  config.labels.clear();
  config.generator = scaled_generator(config, 0.5);
  PackedBatch::MaskedTokens masked;
  for (int64_t t = 0; t < recorded.batch.num_tokens(); t += 2) {
    masked.tokens.push_back(static_cast<int32_t>(t));
    masked.ids.push_back(t == 4 ? -1 : static_cast<int32_t>(2 + t % 9));
  }
  recorded.batch.labels = std::move(masked);
  return recorded;
}

// Classes beside a teacher's logits.
inline RecordedCase case_of_teacher() {
  RecordedCase recorded("bert-sequence", /*drops=*/true);
  const int64_t numbers = recorded.batch.num_sequences() * recorded.options.config.num_outputs();
  for (int64_t i = 0; i < numbers; ++i) {
    recorded.batch.teacher_logits.push_back(2 * std::sin(static_cast<float>(5 * i)));
  }
  recorded.options.loss.distillation = {.weight = 0.7, .temperature = 3};
  recorded.options.loss.label_smoothing = 0.1;
  return recorded;
}

}  // namespace berth
