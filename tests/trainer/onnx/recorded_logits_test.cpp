// Compares the graph of every architecture with every head to logits recorded from PyTorch and
// transformers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trainer/onnx/interpreter.h"
#include "tests/trainer/onnx/recorded_model.h"

namespace berth::onnx {
namespace {

constexpr double kTolerance = 1e-4;  // relative to the largest logit

// A batch of sequences that are padded to `width`, with the id `filling` in the padding. The
// sequences of a group are rows of one example.
Arrays padded(const PackedBatch& batch, int64_t width, int32_t filling) {
  const auto sequences = static_cast<int64_t>(batch.cu_seqlens.size()) - 1;
  stablehlo::Dims shape = {sequences, width};
  if (batch.sequences_per_example > 1) {
    shape = {batch.num_examples(), batch.sequences_per_example, width};
  }
  const auto empty =
      stablehlo::Array::of(shape, std::vector<double>(static_cast<size_t>(sequences * width)));
  Arrays inputs = {{"input_ids", empty}, {"attention_mask", empty}, {"token_type_ids", empty}};
  std::ranges::fill(inputs["input_ids"].numbers, filling);
  for (size_t b = 0; b < static_cast<size_t>(sequences); ++b) {
    const auto first = static_cast<size_t>(batch.cu_seqlens[b]);
    const auto end = static_cast<size_t>(batch.cu_seqlens[b + 1]);
    for (size_t token = first; token < end; ++token) {
      const size_t place = b * static_cast<size_t>(width) + token - first;
      inputs["input_ids"].numbers[place] = batch.input_ids[token];
      inputs["attention_mask"].numbers[place] = 1;
      inputs["token_type_ids"].numbers[place] = batch.token_type_ids[token];
    }
  }
  return inputs;
}

// The logits of sequences, or of all tokens that are no padding, in the order of the recording.
std::vector<double> logits_of(const ReadModel& model, const Arrays& inputs) {
  const auto values = run_model(model, inputs);
  const std::vector<double>& mask = inputs.at("attention_mask").numbers;
  std::vector<const stablehlo::Array*> outputs;
  for (const ReadPort& port : model.outputs) outputs.push_back(&values.at(port.name));
  if (outputs.size() == 1 && outputs[0]->type.rank() == 2) return outputs[0]->numbers;
  const size_t columns = outputs[0]->numbers.size() / mask.size();
  std::vector<double> logits;
  for (size_t token = 0; token < mask.size(); ++token) {
    if (mask[token] == 0) continue;
    for (const stablehlo::Array* output : outputs) {
      const auto row = output->numbers.begin() + static_cast<int64_t>(token * columns);
      logits.insert(logits.end(), row, row + static_cast<int64_t>(columns));
    }
  }
  return logits;
}

class RecordedLogits : public testing::TestWithParam<std::string> {
 protected:
  // The largest difference from the recorded logits, relative to the largest of these.
  double difference(const std::vector<double>& logits) const {
    const auto expected = recorded_values<float>(model_.recorded, "logits");
    EXPECT_EQ(logits.size(), expected.size());
    double largest = 0, scale = 0;
    for (size_t i = 0; i < std::min(logits.size(), expected.size()); ++i) {
      largest = std::max(largest, std::abs(logits[i] - double{expected[i]}));
      scale = std::max(scale, std::abs(double{expected[i]}));
    }
    return largest / scale;
  }
  int64_t longest() const {
    const auto lengths = recorded_values<int32_t>(model_.recorded, "lengths");
    return std::ranges::max(lengths);
  }
  int32_t padding() const { return static_cast<int32_t>(model_.config.pad_token_id); }

  const RecordedModel model_{GetParam()};
  const PackedBatch batch_ = recorded_inputs(model_.recorded);
};

TEST_P(RecordedLogits, AreThoseOfTheGraph) {
  EXPECT_LT(difference(logits_of(model_.written(), padded(batch_, longest(), padding()))),
            kTolerance);
}

TEST_P(RecordedLogits, DoNotDependOnThePadding) {
  // RoBERTa tells its padding by the id.
  const int32_t filling = model_.config.counts_from_padding() ? padding() : 5;
  EXPECT_LT(difference(logits_of(model_.written(), padded(batch_, longest() + 3, filling))),
            kTolerance);
}

TEST_P(RecordedLogits, SurviveNumbersOf16Bits) {
  const auto inputs = padded(batch_, longest(), padding());
  const double rounded = difference(logits_of(model_.written(DType::kF16), inputs));
  EXPECT_GT(rounded, 0);
  EXPECT_LT(rounded, 0.01);
  EXPECT_LT(difference(logits_of(model_.written(DType::kBF16), inputs)), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Architectures, RecordedLogits, testing::ValuesIn(kRecordedCases),
                         test_name);

class TextPairGraph : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(All, TextPairGraph,
                         testing::Values(Task::kNextSentence, Task::kSentenceOrder),
                         [](const auto& test) { return std::string(task_name(test.param)); });

// The masked tokens have the recorded losses, and the pairs the recorded logits.
TEST_P(TextPairGraph, HasTheOutputsOfTheModelForPreTraining) {
  const bool is_bert = GetParam() == Task::kNextSentence;
  const RecordedModel model(is_bert ? "next_sentence/bert" : "next_sentence/albert", GetParam());
  const PackedBatch batch = recorded_inputs(model.recorded);
  const ReadModel written = model.written();
  ASSERT_EQ(written.outputs.size(), 2U);
  EXPECT_EQ(written.outputs[0].name, "prediction_logits");
  EXPECT_EQ(written.outputs[1].name, "seq_relationship_logits");
  constexpr int64_t kWidth = 15;
  const auto values = run_model(written, padded(batch, kWidth, 5));
  const auto logits = recorded_values<float>(model.recorded, "logits");
  const std::vector<double>& next = values.at("seq_relationship_logits").numbers;
  ASSERT_EQ(next.size(), logits.size());
  for (size_t i = 0; i < next.size(); ++i) EXPECT_NEAR(next[i], logits[i], 1e-4) << i;
  const auto masked = recorded_values<int32_t>(model.recorded, "masked");
  const auto labels = recorded_values<int32_t>(model.recorded, "labels");
  const auto losses = recorded_values<float>(model.recorded, "masked_losses");
  const std::vector<double>& predicted = values.at("prediction_logits").numbers;
  const auto vocabulary = static_cast<size_t>(model.config.vocab_size);
  ASSERT_EQ(predicted.size(), (batch.cu_seqlens.size() - 1) * kWidth * vocabulary);
  for (size_t m = 0; m < masked.size(); ++m) {
    const auto after = std::ranges::upper_bound(batch.cu_seqlens, masked[m]);
    const auto sequence = static_cast<size_t>(after - batch.cu_seqlens.begin()) - 1;
    const auto token = static_cast<size_t>(masked[m] - batch.cu_seqlens[sequence]);
    const double* const row = &predicted[(sequence * kWidth + token) * vocabulary];
    double sum = 0;
    for (size_t v = 0; v < vocabulary; ++v) sum += std::exp(row[v]);
    EXPECT_NEAR(std::log(sum) - row[static_cast<size_t>(labels[m])], losses[m], 1e-4) << m;
  }
}

// Each text's embedding is made of the hidden states of its own tokens, padding left out.
TEST(SentenceEmbeddings, ArePooledAndNormalized) {
  RecordedModel model("bert-sequence");
  const PackedBatch batch = recorded_inputs(model.recorded);
  const int64_t width = 16, hidden = model.config.hidden_size;
  const auto inputs = padded(batch, width, 5);
  for (const Task task : {Task::kTextEmbedding, Task::kInBatchNegatives}) {
    for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kMax}) {
      for (const bool normalizes : {false, true}) {
        model.config.task = task;
        model.config.pooling = pooling;
        model.config.normalizes_embeddings = normalizes;
        const ReadModel written = model.written();
        ASSERT_EQ(written.outputs.size(), 2U);
        EXPECT_EQ(written.outputs[0].name, "last_hidden_state");
        EXPECT_EQ(written.outputs[1].name, "sentence_embedding");
        const auto values = run_model(written, inputs);
        const stablehlo::Array &states = values.at("last_hidden_state"),
                               &made = values.at("sentence_embedding");
        ASSERT_EQ(made.type.shape, (stablehlo::Dims{states.type.shape[0], hidden}));
        for (size_t b = 0; b + 1 < batch.cu_seqlens.size(); ++b) {
          const auto tokens = batch.cu_seqlens[b + 1] - batch.cu_seqlens[b];
          ASSERT_LT(tokens, width);
          std::vector<double> expected(static_cast<size_t>(hidden));
          double squares = 0;
          for (size_t i = 0; i < expected.size(); ++i) {
            const auto state = [&](int32_t token) {
              return states.numbers[(b * static_cast<size_t>(width) + static_cast<size_t>(token)) *
                                        expected.size() +
                                    i];
            };
            expected[i] = state(0);
            for (int32_t token = 1; token < tokens; ++token) {
              if (pooling == Pooling::kMean) expected[i] += state(token);
              if (pooling == Pooling::kMax) expected[i] = std::max(expected[i], state(token));
            }
            if (pooling == Pooling::kMean) expected[i] /= tokens;
            squares += expected[i] * expected[i];
          }
          for (size_t i = 0; i < expected.size(); ++i) {
            const double length = normalizes ? std::sqrt(squares) : 1;
            EXPECT_NEAR(made.numbers[b * expected.size() + i], expected[i] / length, 1e-6);
          }
        }
      }
    }
  }
}

TEST(RecordedLogits, WouldDifferWithoutAMask) {
  const RecordedModel model("bert-sequence");
  auto inputs = padded(recorded_inputs(model.recorded), 16, 5);
  const auto masked = logits_of(model.written(), inputs);
  std::ranges::fill(inputs["attention_mask"].numbers, 1);
  const auto unmasked = logits_of(model.written(), inputs);
  EXPECT_GT(std::abs(masked[0] - unmasked[0]), 0.01);
}

}  // namespace
}  // namespace berth::onnx
