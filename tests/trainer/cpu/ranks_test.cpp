// Several engines that train one model together must train the model that one engine trains.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "tests/support/rank_threads.h"
#include "tests/support/tiny_config.h"
#include "trainer/cpu/cpu_device.h"
#include "trainer/model/generator.h"
#include "trainer/weights/initial_values.h"

namespace berth {
namespace {

constexpr uint64_t kUpdates = 4;
constexpr int64_t kSequences = 7;

// Labels the last sequence of a batch: it has a class, or every third of its tokens is masked.
void label(PackedBatch& batch, int64_t number, const ModelConfig& config) {
  const float weight = 0.5f + static_cast<float>(number);
  if (auto* const classes = std::get_if<PackedBatch::Classes>(&batch.labels)) {
    classes->push_back(static_cast<int32_t>(number % 2));
    batch.weights.push_back(weight);
    return;
  }
  auto& masked = std::get<PackedBatch::MaskedTokens>(batch.labels);
  const int32_t begin = batch.cu_seqlens.end()[-2], length = batch.cu_seqlens.back() - begin;
  for (int32_t i = 0; i < length; i += 3) {
    masked.tokens.push_back(begin + i);
    masked.ids.push_back(static_cast<int32_t>((number + i) % config.vocab_size));
    batch.weights.push_back(weight);
  }
}

// Sequence `number` has 3 to 9 tokens.
void append_sequence(PackedBatch& batch, int64_t number, const ModelConfig& config) {
  const auto length = static_cast<int32_t>(3 + number * 5 % 7);
  for (int32_t i = 0; i < length; ++i) {
    const auto id = (number * 13 + i * 7) % config.vocab_size;
    batch.input_ids.push_back(static_cast<int32_t>(id));
    batch.token_type_ids.push_back(i % 2);
    batch.position_ids.push_back(i);
  }
  batch.cu_seqlens.push_back(static_cast<int32_t>(batch.input_ids.size()));
  label(batch, number, config);
}

// Sequences [begin, end) of the update.
PackedBatch sequences(int64_t begin, int64_t end, const ModelConfig& config) {
  PackedBatch before, batch;
  if (config.generator) {
    before.labels = batch.labels = PackedBatch::MaskedTokens();
  } else {
    before.labels = batch.labels = PackedBatch::Classes();
  }
  for (int64_t i = 0; i < begin; ++i) append_sequence(before, i, config);
  for (int64_t i = begin; i < end; ++i) append_sequence(batch, i, config);
  batch.first_token = static_cast<uint64_t>(before.num_tokens());
  batch.first_sequence = static_cast<uint64_t>(begin);
  return batch;
}

struct Trained {
  std::vector<float> values, moments;
  std::vector<UpdateOutcome> outcomes;
};

class RanksTest : public testing::Test {
 protected:
  RanksTest() {
    config_.num_hidden_layers = 3;
    config_.hidden_dropout_prob = config_.attention_probs_dropout_prob = 0.1;
  }

  // Trains this rank's share; alone where there are no ranks. `micro_batches` of each share.
  Trained train(Communicator* ranks, int64_t micro_batches) const {
    const int64_t size = ranks == nullptr ? 1 : ranks->size();
    const int64_t rank = ranks == nullptr ? 0 : ranks->rank();
    const auto device = make_cpu_device(1, "", precision_);
    const auto engine = device->make_engine(
        {.config = config_,
         .optimizer = optimizer_,
         .limits = {.tokens = 80, .sequences = kSequences, .masked = config_.generator ? 40 : 0},
         .micro_batches = micro_batches,
         .update_tokens = 80,
         .longest = 16,
         .ranks = {.size = size,
                   .communicator = ranks,
                   .reduce_dtype = reduce_dtype_,
                   .shards_optimizer = shards_}});
    ParameterTensors& values = engine->tensors(StateTensors::kValues);
    initialize(values, /*initializer_range=*/0.2, /*seed=*/3, /*threads=*/1);
    engine->tensors_written();
    const int64_t first = kSequences * rank / size, last = kSequences * (rank + 1) / size;
    std::vector<PackedBatch> batches;
    for (int64_t part = 0; part < micro_batches; ++part) {
      const int64_t begin = first + (last - first) * part / micro_batches;
      const int64_t end = first + (last - first) * (part + 1) / micro_batches;
      if (begin < end) batches.push_back(sequences(begin, end, config_));
    }
    Trained trained;
    const std::atomic<bool> stop = false;
    for (uint64_t step = 0; step < kUpdates; ++step) {
      EXPECT_TRUE(
          engine->start_update(batches, {.seed = 5, .step = step, .learning_rate = 1e-2f}, stop));
      trained.outcomes.push_back(engine->collect_update());
    }
    trained.values = read_all(values);
    if (rank == 0) {  // which may read what others keep
      trained.moments = read_all(engine->tensors(StateTensors::kFirstMoments));
      const std::vector<float> second = read_all(engine->tensors(StateTensors::kSecondMoments));
      trained.moments.insert(trained.moments.end(), second.begin(), second.end());
    }
    if (ranks != nullptr) any_rank(*ranks, false);
    return trained;
  }

  static std::vector<float> read_all(const ParameterTensors& tensors) {
    std::vector<float> all;
    for (size_t i = 0; i < tensors.specs().size(); ++i) {
      const std::vector<float> tensor = tensors.ParameterTensors::read(i);
      all.insert(all.end(), tensor.begin(), tensor.end());
    }
    return all;
  }

  // What every rank of `size` ranks has trained. Fails where their parameters differ.
  Trained train_with(int size, int64_t micro_batches = 1) const {
    std::vector<Trained> all(static_cast<size_t>(size));
    run_ranks(size, [&](Communicator& ranks) {
      all[static_cast<size_t>(ranks.rank())] = train(&ranks, micro_batches);
    });
    for (const Trained& each : all) EXPECT_EQ(each.values, all[0].values);
    return all[0];
  }

  static double furthest(const Trained& a, const Trained& b) {
    double most = 0;
    for (size_t i = 0; i < a.values.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(a.values[i] - b.values[i])));
    }
    return most;
  }

  ModelConfig config_ = tiny_config();
  // The gradients of keys' biases are only rounding. With a small epsilon, AdamW would take a step
  // of the whole rate for them.
  OptimizerOptions optimizer_{.adamw = {.epsilon = 1e-4f}, .max_grad_norm = 1};
  Precision precision_ = Precision::kFp32;
  DType reduce_dtype_ = DType::kF32;
  bool shards_ = false;
};

TEST_F(RanksTest, TrainTheModelThatOneTrains) {
  const Trained alone = train(nullptr, 1);
  for (const int size : {1, 2, 3, 4}) {
    const Trained together = train_with(size);
    for (size_t i = 0; i < kUpdates; ++i) {
      EXPECT_NEAR(together.outcomes[i].loss_sum, alone.outcomes[i].loss_sum, 1e-4) << size;
      EXPECT_EQ(together.outcomes[i].examples, alone.outcomes[i].examples) << size;
      EXPECT_NEAR(together.outcomes[i].grad_norm, alone.outcomes[i].grad_norm, 1e-5) << size;
    }
    EXPECT_LT(furthest(together, alone), 1e-4) << size;
  }
}

TEST_F(RanksTest, AreTheSameBitForBitEveryTime) {
  EXPECT_EQ(train_with(3).values, train_with(3).values);
}

TEST_F(RanksTest, MayHaveNothingToDo) {
  EXPECT_LT(furthest(train_with(9), train(nullptr, 1)), 1e-4);  // more ranks than examples
}

// A rank has one sequence here, or none. So its share is one batch, whether or not two are
// expected, but where two are, the gradients of all matrices are sums.
class RanksOfWideLayers : public RanksTest {
 protected:
  // Whether two micro-batches are expected does not change what `size` ranks learn.
  void expect_the_same(Precision precision, DType travelling, int size) {
    config_.num_hidden_layers = 1;
    config_.hidden_size = 384;  // so wide that they are kept
    config_.intermediate_size = 512;
    precision_ = precision;
    reduce_dtype_ = travelling;
    EXPECT_EQ(train_with(size, 1).values, train_with(size, 2).values);
  }
};

TEST_F(RanksOfWideLayers, KeepGradientsThatAreOneProductAndTrainTheSameToTheBit) {
  expect_the_same(Precision::kFp32, DType::kF32, 9);
  expect_the_same(Precision::kFp32, DType::kBF16, 7);
}

// The device never emulates bf16, as kernels do in other tests.
TEST_F(RanksOfWideLayers, TrainTheSameToTheBitInBf16) {
  if (!multiplies_bf16()) GTEST_SKIP() << "NOT TESTED HERE: this CPU has no AVX512_BF16";
  expect_the_same(Precision::kBf16, DType::kBF16, 9);
}

TEST_F(RanksTest, CutTheirSharesIntoMicroBatches) {
  EXPECT_LT(furthest(train_with(2, 2), train(nullptr, 1)), 1e-4);
}

// Each rank has another share of the masked tokens than of all tokens.
TEST_F(RanksTest, TrainAGeneratorBesideItsDiscriminator) {
  config_.task = Task::kReplacedTokenDetection;
  config_.labels.clear();
  config_.generator = scaled_generator(config_, 0.5);
  const Trained alone = train(nullptr, 1);
  for (const int size : {2, 3, 9}) {
    const Trained together = train_with(size, size == 2 ? 2 : 1);
    for (size_t i = 0; i < kUpdates; ++i) {
      EXPECT_NEAR(together.outcomes[i].loss_sum, alone.outcomes[i].loss_sum, 1e-2) << size;
      EXPECT_EQ(together.outcomes[i].examples, alone.outcomes[i].examples) << size;
    }
    EXPECT_LT(furthest(together, alone), 1e-4) << size;
  }
}

TEST_F(RanksTest, RoundGradientsThatTravelInBf16) {
  const Trained exact = train_with(2);
  reduce_dtype_ = DType::kBF16;
  const Trained rounded = train_with(2);
  EXPECT_NE(rounded.values, exact.values);
  for (size_t i = 0; i < kUpdates; ++i) {
    EXPECT_NEAR(rounded.outcomes[i].loss_sum / exact.outcomes[i].loss_sum, 1, 1e-2);
  }
}

// Without clipping, nothing is computed in another order.
TEST_F(RanksTest, ShareTheOptimizerAndTrainTheSameToTheBit) {
  config_.vocab_size = 100;  // several blocks of rows for each rank
  optimizer_.max_grad_norm = 0;
  for (const int size : {2, 3, 9}) {
    shards_ = false;
    const Trained whole = train_with(size);
    shards_ = true;
    const Trained sharded = train_with(size);
    EXPECT_EQ(sharded.values, whole.values) << size;
    EXPECT_EQ(sharded.moments, whole.moments) << size;
  }
}

TEST_F(RanksTest, ShareTheOptimizerUnderANormOfAllGradients) {
  optimizer_.max_grad_norm = 0.1;
  for (const OptimizerType type : {OptimizerType::kAdamW, OptimizerType::kLamb}) {
    optimizer_.type = type;
    shards_ = false;
    const Trained whole = train_with(3);
    shards_ = true;
    const Trained sharded = train_with(3);
    EXPECT_NEAR(sharded.outcomes[3].grad_norm, whole.outcomes[3].grad_norm, 1e-6);
    EXPECT_GT(sharded.outcomes[3].grad_norm, 0.1);  // it was clipped
    EXPECT_LT(furthest(sharded, whole), 1e-5);
    EXPECT_EQ(train_with(3).values, sharded.values);
  }
}

// The sum of what was rounded is not rounded again.
TEST_F(RanksTest, ShareTheOptimizerWithGradientsThatTravelInBf16) {
  shards_ = true;
  const Trained exact = train_with(2);
  reduce_dtype_ = DType::kBF16;
  const Trained rounded = train_with(2);
  EXPECT_NE(rounded.values, exact.values);
  for (size_t i = 0; i < kUpdates; ++i) {
    EXPECT_NEAR(rounded.outcomes[i].loss_sum / exact.outcomes[i].loss_sum, 1, 1e-2);
  }
}

TEST_F(RanksTest, StopTogether) {
  run_ranks(2, [&](Communicator& ranks) {
    const auto device = make_cpu_device(1, "", Precision::kFp32);
    const auto engine = device->make_engine({.config = config_,
                                             .limits = {.tokens = 80, .sequences = kSequences},
                                             .update_tokens = 80,
                                             .longest = 16,
                                             .ranks = {.size = 2, .communicator = &ranks}});
    engine->tensors_written();
    const std::atomic<bool> stop = ranks.rank() == 1;
    const std::vector<PackedBatch> batches = {sequences(0, 3, config_)};
    EXPECT_FALSE(engine->start_update(batches, {}, stop));
  });
}

}  // namespace
}  // namespace berth
