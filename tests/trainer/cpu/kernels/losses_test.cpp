#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "storage/base/json.h"
#include "storage/base/philox.h"
#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

// Compares every loss with its definition, and its gradient with finite differences of the
// definition.
class LossesTest : public KernelsTest {
 protected:
  using Definition = std::function<Vector(const Vector& logits)>;  // the loss of each row
  using Loss = std::function<void(Tensor logits, Tensor weights, Tensor dlogits)>;

  // `weights` are the rows' weights. A row without a loss has the weight 0.
  void check(std::initializer_list<int64_t> shape, const Vector& logits, const Vector& weights,
             Tensor weights_or_null, const Loss& loss, const Definition& definition) {
    begin(inputs_);
    const Tensor dlogits = garbage(shape);
    loss(tensor(shape, logits), weights_or_null, dlogits);
    const Vector losses = definition(logits);
    double sum = 0, examples = 0;
    for (size_t row = 0; row < losses.size(); ++row) {
      sum += weights[row] * losses[row];
      examples += weights[row];
    }
    const UpdateOutcome outcome = state_->outcome();
    EXPECT_NEAR(outcome.loss_sum, sum, 1e-6 * (1 + sum));
    EXPECT_NEAR(outcome.examples, examples, 1e-6 * examples);
    if (logits.size() > 1000) return;
    expect_near(dlogits, reference::numeric_gradient(definition, logits, weights), 1e-5, "dlogits");
  }

  // Checks once without weights and once with random ones.
  void check_both(std::initializer_list<int64_t> shape, const Vector& logits,
                  const std::vector<bool>& has_loss, const Loss& loss,
                  const Definition& definition) {
    const auto rows = static_cast<int64_t>(has_loss.size());
    Vector ones, some = random(rows), counted;
    for (const bool has : has_loss) ones.push_back(has ? 1 : 0);
    check(shape, logits, ones, {}, loss, definition);
    for (double& weight : some) weight = std::abs(weight);
    for (size_t row = 0; row < some.size(); ++row) counted.push_back(ones[row] * some[row]);
    check(shape, logits, counted, tensor({rows}, some), loss, definition);
  }
};

class CrossEntropy : public LossesTest {
 protected:
  void check(int64_t rows, int64_t classes, double scale, double smoothing) {
    std::vector<int32_t> labels = random_ids(rows, static_cast<int32_t>(classes));
    std::vector<bool> has_loss(labels.size(), true);
    if (rows > 2) {
      labels[1] = -100;
      has_loss[1] = false;
    }
    check_both(
        {rows, classes}, random(rows * classes, scale), has_loss,
        [&](Tensor logits, Tensor weights, Tensor dlogits) {
          kernels().cross_entropy({logits, ids(labels), weights}, static_cast<float>(smoothing),
                                  *state_, dlogits);
        },
        [&](const Vector& x) { return reference::cross_entropy(x, labels, smoothing); });
  }
};

TEST_P(CrossEntropy, AgreesWithItsDefinition) {
  for (const double smoothing : {0.0, 0.1, 0.75}) {
    check(1, 2, 1, smoothing);
    check(33, 4, 3, smoothing);
    check(5, 37, 10, smoothing);
  }
}

TEST_P(CrossEntropy, OfAVocabularyAgrees) {
  check(3, 30522, 2, 0);
  check(3, 30522, 2, 0.1);
}

// The expected values are those of torch 1.13's CrossEntropyLoss(label_smoothing=0.1,
// reduction="sum").
TEST_P(CrossEntropy, IsSmoothedAsTorchDoes) {
  const Tensor logits = tensor({2, 3}, {1, -2, 0.5, 0, 3, -1}), dlogits = garbage({2, 3});
  kernels().cross_entropy({logits, ids({0, 2})}, 0.1f, *state_, dlogits);
  EXPECT_NEAR(state_->outcome().loss_sum, 4.520481, 1e-5);
  expect_near(dlogits, {-0.3295844, -0.0032744, 0.3328589, 0.0132793, 0.9029062, -0.9161855}, 1e-5,
              "dlogits");
}

TEST_P(CrossEntropy, SurvivesHugeLogits) {
  const Tensor dlogits = garbage({2, 2});
  kernels().cross_entropy({tensor({2, 2}, {1e4, -1e4, 1e4, -1e4}), ids({0, 1})}, 0, *state_,
                          dlogits);
  EXPECT_NEAR(state_->outcome().loss_sum, 2e4, 1e-3);
  expect_near(dlogits, {0, 0, 1, -1}, 1e-6, "dlogits");
}

TEST_P(CrossEntropy, RowsWithoutALabelDoNotCount) {
  const Tensor dlogits = garbage({3, 2});
  kernels().cross_entropy({tensor({3, 2}, {5, 1, 0, 0, 7, 2}), ids({-100, 1, -1})}, 0, *state_,
                          dlogits);
  EXPECT_NEAR(state_->outcome().loss_sum, std::log(2), 1e-6);
  EXPECT_EQ(state_->outcome().examples, 1);
  expect_near(dlogits, {0, 0, 0.5, -0.5, 0, 0}, 1e-6, "dlogits");
}

TEST_P(CrossEntropy, ShowsADivergedModel) {
  const Tensor logits = tensor({1, 3}, {0, std::numeric_limits<double>::quiet_NaN(), 1});
  kernels().cross_entropy({logits, ids({0})}, 0, *state_, {});
  EXPECT_TRUE(std::isnan(state_->outcome().loss_sum));
}

TEST_P(CrossEntropy, SumsOverMicroBatchesUntilTheNextStep) {
  const Tensor logits = tensor({2, 2}, {0, 0, 0, 0}), labels = ids({0, 1});
  kernels().cross_entropy({logits, labels}, 0, *state_, {});
  kernels().cross_entropy({logits.first(1), labels.first(1)}, 0, *state_, {});
  EXPECT_NEAR(state_->outcome().loss_sum, 3 * std::log(2), 1e-6);
  EXPECT_EQ(state_->outcome().examples, 3);
  state_->begin(inputs_);
  EXPECT_EQ(state_->outcome().loss_sum, 0);
  EXPECT_EQ(state_->outcome().examples, 0);
}

class Distillation : public LossesTest {};

// The expected values are those of PyTorch: tests/record/record_distillation.py.
TEST_P(Distillation, AgreesWithPyTorch) {
  std::ifstream file(BERTH_TESTDATA "/distillation.json");
  const Json cases = parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_EQ(cases.size(), 4u);
  for (const Json& recorded : cases) {
    const auto classes = recorded["classes"].get<int64_t>();
    const auto labels = recorded["labels"].get<std::vector<int32_t>>();
    const auto rows = static_cast<int64_t>(labels.size());
    const Tensor logits = tensor({rows, classes}, recorded["student"].get<Vector>());
    const Tensor teacher = tensor({rows, classes}, recorded["teacher"].get<Vector>());
    const Tensor dlogits = garbage({rows, classes});
    begin(inputs_);
    kernels().distilled_cross_entropy(
        {logits, ids(labels)}, teacher,
        {.weight = recorded["weight"], .temperature = recorded["temperature"]},
        recorded["smoothing"].get<float>(), *state_, dlogits);
    const auto losses = recorded["losses"].get<Vector>();
    EXPECT_NEAR(state_->outcome().loss_sum, std::accumulate(losses.begin(), losses.end(), 0.0),
                1e-5 * (1 + state_->outcome().loss_sum));
    expect_near(dlogits, recorded["gradient"].get<Vector>(), 1e-5, "dlogits");
  }
}

TEST_P(Distillation, RowsWithoutALabelDoNotCount) {
  const Tensor dlogits = garbage({2, 2}), teacher = tensor({2, 2}, {1, 0, 0, 1});
  kernels().distilled_cross_entropy({tensor({2, 2}, {5, 1, 0, 0}), ids({-1, 1})}, teacher, {}, 0,
                                    *state_, dlogits);
  EXPECT_EQ(state_->outcome().examples, 1);
  EXPECT_EQ(dlogits.f32()[0], 0);
  EXPECT_EQ(dlogits.f32()[1], 0);
}

class MeanSquaredError : public LossesTest {};

TEST_P(MeanSquaredError, AgreesWithItsDefinition) {
  for (const int64_t rows : {1, 7, 300}) {
    const Vector targets = random(rows);
    check_both(
        {rows, 1}, random(rows), std::vector<bool>(static_cast<size_t>(rows), true),
        [&](Tensor logits, Tensor weights, Tensor dlogits) {
          kernels().mean_squared_error({logits, tensor({rows}, targets), weights}, *state_,
                                       dlogits);
        },
        [&](const Vector& x) { return reference::squared_error(x, targets); });
  }
}

TEST_P(MeanSquaredError, SumsOverTheOutputsOfARow) {
  constexpr int64_t kRows = 5, kOutputs = 37;
  const Vector targets = random(kRows * kOutputs);
  check_both(
      {kRows, kOutputs}, random(kRows * kOutputs), std::vector<bool>(kRows, true),
      [&](Tensor logits, Tensor weights, Tensor dlogits) {
        kernels().mean_squared_error({logits, tensor({kRows, kOutputs}, targets), weights}, *state_,
                                     dlogits);
      },
      [&](const Vector& x) {
        Vector sums(kRows);
        for (size_t i = 0; i < x.size(); ++i) {
          sums[i / kOutputs] += (x[i] - targets[i]) * (x[i] - targets[i]);
        }
        return sums;
      });
}

TEST_P(MeanSquaredError, MayBeAveragedOverTheOutputsOfARow) {
  constexpr int64_t kRows = 5, kOutputs = 37;
  const Vector targets = random(kRows * kOutputs);
  check_both(
      {kRows, kOutputs}, random(kRows * kOutputs), std::vector<bool>(kRows, true),
      [&](Tensor logits, Tensor weights, Tensor dlogits) {
        kernels().mean_squared_error({logits, tensor({kRows, kOutputs}, targets), weights}, *state_,
                                     dlogits, OverOutputs::kMean);
      },
      [&](const Vector& x) {
        Vector means(kRows);
        for (size_t i = 0; i < x.size(); ++i) {
          means[i / kOutputs] += (x[i] - targets[i]) * (x[i] - targets[i]) / kOutputs;
        }
        return means;
      });
}

class BinaryCrossEntropy : public LossesTest {};

TEST_P(BinaryCrossEntropy, AgreesWithItsDefinition) {
  for (const int64_t classes : {1, 5, 90}) {
    constexpr int64_t kRows = 9;
    Vector targets;
    for (const int32_t id : random_ids(kRows * classes, 4)) targets.push_back(id / 3.0);
    check_both(
        {kRows, classes}, random(kRows * classes, 2), std::vector<bool>(kRows, true),
        [&](Tensor logits, Tensor weights, Tensor dlogits) {
          kernels().binary_cross_entropy({logits, tensor({kRows, classes}, targets), weights},
                                         *state_, dlogits);
        },
        [&](const Vector& x) { return reference::binary_cross_entropy(x, targets, classes); });
  }
}

TEST_P(BinaryCrossEntropy, SurvivesHugeLogits) {
  const Tensor dlogits = garbage({2, 2});
  kernels().binary_cross_entropy(
      {tensor({2, 2}, {1e4, -1e4, 1e4, -1e4}), tensor({2, 2}, {1, 0, 0, 1})}, *state_, dlogits);
  EXPECT_NEAR(state_->outcome().loss_sum, 1e4, 1e-3);
  expect_near(dlogits, {0, 0, 0.5, -0.5}, 1e-6, "dlogits");
}

class SpanCrossEntropy : public LossesTest {
 protected:
  const std::vector<int32_t> cu_seqlens_ = {0, 1, 6, 23, 30}, starts_ = {0, 2, -1, 29},
                             ends_ = {0, 5, 20, 23};
};

TEST_P(SpanCrossEntropy, AgreesWithItsDefinition) {
  for (const double scale : {1.0, 20.0}) {
    check_both(
        {30, 2}, random(60, scale), {true, true, false, true},
        [&](Tensor logits, Tensor weights, Tensor dlogits) {
          kernels().span_cross_entropy(
              {logits, ids(cu_seqlens_), ids(starts_), ids(ends_), weights}, *state_, dlogits);
        },
        [&](const Vector& x) {
          return reference::span_cross_entropy(x, cu_seqlens_, starts_, ends_);
        });
  }
}

TEST_P(SpanCrossEntropy, OfOneTokenIsCertain) {
  const Tensor dlogits = garbage({1, 2});
  kernels().span_cross_entropy({tensor({1, 2}, {3, -8}), ids({0, 1}), ids({0}), ids({0})}, *state_,
                               dlogits);
  EXPECT_EQ(state_->outcome().loss_sum, 0);
  EXPECT_EQ(state_->outcome().examples, 1);
  expect_near(dlogits, {0, 0}, 1e-6, "dlogits");
}

class Losses : public LossesTest {};

TEST_P(Losses, AreTheSameForAnyNumberOfThreads) {
  constexpr int64_t kRows = 4096, kClasses = 7;
  const Tensor logits = tensor({kRows, kClasses}, random(kRows * kClasses));
  const Tensor labels = ids(random_ids(kRows, kClasses)), targets = zeros({kRows, kClasses});
  ThreadPool others(GetParam().threads + 1);
  const auto other_kernels = make_cpu_kernels(others, GetParam().instruction_set);
  std::vector<std::vector<float>> gradients;
  std::vector<double> sums;
  for (Kernels* some : {kernels_.get(), other_kernels.get()}) {
    state_->begin(inputs_);
    for (const bool of_sets : {false, true}) {
      const Tensor dlogits = garbage({kRows, kClasses});
      if (of_sets) {
        some->binary_cross_entropy({logits, targets}, *state_, dlogits);
      } else {
        some->cross_entropy({logits, labels}, 0.1f, *state_, dlogits);
      }
      gradients.push_back(floats(dlogits));
      sums.push_back(state_->outcome().loss_sum);
    }
  }
  for (size_t i : {0, 1}) {
    EXPECT_EQ(gradients[i], gradients[i + 2]);
    EXPECT_EQ(sums[i], sums[i + 2]);
  }
}

BERTH_INSTANTIATE_KERNELS(CrossEntropy);
BERTH_INSTANTIATE_KERNELS(Distillation);
BERTH_INSTANTIATE_KERNELS(MeanSquaredError);
BERTH_INSTANTIATE_KERNELS(BinaryCrossEntropy);
BERTH_INSTANTIATE_KERNELS(SpanCrossEntropy);
BERTH_INSTANTIATE_KERNELS(Losses);

// Compares the loss over a vocabulary in tiles with its definition, and its gradients with finite
// differences of the definition.
class VocabularyLoss : public KernelsTest {
 protected:
  static constexpr int64_t kRows = 7, kInner = 9, kVocabulary = 100;

  struct Made {
    Tensor predictions{}, dx{}, dw{}, dbias{};
  };

  VocabularyLoss() { targets_[2] = -100; }

  // The logits x w^T + bias, as the definition has them.
  Vector logits() const { return reference::linear(x_, w_, bias_); }

  Made run(TileSize tile, double smoothing, WeightUse use = WeightUse::kTraining,
           bool trains = true) {
    begin(inputs_);
    Made made{.predictions = garbage({kRows, 2})};
    if (trains) {
      made.dx = garbage({kRows, kInner});
      made.dw = tensor({kVocabulary, kInner}, old_dw_);
      made.dbias = tensor({kVocabulary}, old_dbias_);
    }
    const Tensor values = tensor({kVocabulary, kInner}, w_);
    kernels().vocabulary_cross_entropy(
        {tensor({kRows, kInner}, x_), tensor({kVocabulary}, bias_), ids(targets_),
         weights_.empty() ? Tensor() : tensor({kRows}, weights_)},
        *kernels().make_weight(values, use), static_cast<float>(smoothing), *state_,
        {garbage({tile.rows, tile.columns}), made.predictions, made.dx, made.dw, made.dbias});
    return made;
  }

  std::vector<int32_t> sample(const SampleDraws& draws, TileSize tile, bool trains) {
    begin(inputs_);
    VocabularyOutputs outputs{.tile = garbage({tile.rows, tile.columns}),
                              .predictions = garbage({kRows, 2})};
    if (trains) outputs.dx = garbage({kRows, kInner});
    outputs.samples = ids(std::vector<int32_t>(kRows, 12345));
    kernels().vocabulary_cross_entropy(
        {tensor({kRows, kInner}, x_), tensor({kVocabulary}, bias_), ids(targets_), {}, draws},
        *weight({kVocabulary, kInner}, w_), 0, *state_, outputs);
    std::vector<int32_t> drawn(kRows);
    copy_out(outputs.samples, drawn.data());
    return drawn;
  }

  static Vector probabilities(const Vector& scores, size_t row) {
    Vector softmax;
    double sum = 0;
    for (size_t id = 0; id < kVocabulary; ++id) {
      softmax.push_back(std::exp(scores[row * kVocabulary + id]));
      sum += softmax.back();
    }
    for (double& p : softmax) p /= sum;
    return softmax;
  }

  void expect_definition(TileSize tile, double smoothing) {
    SCOPED_TRACE(testing::Message() << tile.rows << "x" << tile.columns << " " << smoothing);
    const Made made = run(tile, smoothing);
    Vector counted = weights_.empty() ? Vector(kRows, 1) : weights_;
    counted[2] = 0;
    const Vector losses = reference::cross_entropy(logits(), targets_, smoothing);
    double sum = 0, examples = 0;
    for (size_t row = 0; row < losses.size(); ++row) {
      sum += counted[row] * losses[row];
      examples += counted[row];
    }
    EXPECT_NEAR(state_->outcome().loss_sum, sum, tolerance_ * sum);
    EXPECT_NEAR(state_->outcome().examples, examples, 1e-6 * examples);
    const auto gradient = [&](Vector& of) {
      const auto loss = [&](const Vector& changed) {
        const Vector kept = std::exchange(of, changed);
        const Vector told = reference::cross_entropy(logits(), targets_, smoothing);
        of = kept;
        return told;
      };
      return reference::numeric_gradient(loss, Vector(of), counted);
    };
    expect_near(made.dx, gradient(x_), tolerance_, "dx");
    expect_near(made.dw, sum_of(gradient(w_), old_dw_), tolerance_, "dw");
    expect_near(made.dbias, sum_of(gradient(bias_), old_dbias_), tolerance_, "dbias");
  }

  static Vector sum_of(Vector a, const Vector& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  Vector x_ = random(kRows * kInner), w_ = random(kVocabulary * kInner),
         bias_ = random(kVocabulary);
  Vector old_dw_ = random(kVocabulary * kInner), old_dbias_ = random(kVocabulary);
  Vector weights_{};
  std::vector<int32_t> targets_ = random_ids(kRows, kVocabulary);
  double tolerance_ = 1e-5;
};

TEST_P(VocabularyLoss, AgreesWithItsDefinitionInTilesOfAnySize) {
  for (const TileSize tile : {TileSize{kRows, kVocabulary}, TileSize{50, 128}, TileSize{3, 100},
                              TileSize{kRows, 32}, TileSize{2, 64}, TileSize{1, 96}}) {
    expect_definition(tile, 0);
  }
}

TEST_P(VocabularyLoss, TakesSmoothingAndWeights) {
  expect_definition({2, 32}, 0.1);
  weights_ = {0.5, 2, 3, 1, 0, 1.5, 1};
  expect_definition({kRows, kVocabulary}, 0);
  expect_definition({4, 64}, 0.2);
}

TEST_P(VocabularyLoss, TellsTheLossAndTheBestIdOfEachRow) {
  for (double& value : bias_) value = 0;
  for (size_t i = 0; i < kInner; ++i) w_[kInner * 99 + i] = w_[kInner * 40 + i];  // they tie
  for (size_t i = 0; i < kInner; ++i) x_[i] = 5 * w_[kInner * 40 + i];  // the first row likes both
  const Vector scores = logits(), losses = reference::cross_entropy(scores, targets_);
  for (const TileSize tile : {TileSize{kRows, kVocabulary}, TileSize{2, 32}}) {
    const Vector told = values(run(tile, 0, WeightUse::kInference, /*trains=*/false).predictions);
    for (size_t row = 0; row < kRows; ++row) {
      EXPECT_NEAR(told[2 * row], losses[row], 1e-5 * (1 + losses[row])) << row;
      const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(row * kVocabulary);
      const auto best = std::max_element(begin, begin + kVocabulary) - begin;
      EXPECT_EQ(told[2 * row + 1], row == 0 ? 40 : best) << row;
    }
    EXPECT_EQ(told[4], 0);  // the row without a target
  }
}

// The first id up to which the probabilities sum to more than the random number of the row's token.
TEST_P(VocabularyLoss, DrawsTheIdAtTheRandomNumberOfTheToken) {
  const std::vector<int32_t> tokens = {0, 3, 4, 7, 8, 20, 21};
  const Vector scores = logits();
  for (uint64_t update = 0; update < 30; ++update) {
    const SampleDraws draws{.key = {7, 9}, .first_token = update * 100, .tokens = ids(tokens)};
    for (const auto& [tile, trains] :
         {std::pair(TileSize{kRows, kVocabulary}, true), {{3, 100}, false}, {{2, 32}, true}}) {
      const std::vector<int32_t> drawn = sample(draws, tile, trains);
      for (size_t row = 0; row < kRows; ++row) {
        if (targets_[row] < 0) {
          EXPECT_EQ(drawn[row], -1);
          continue;
        }
        const auto words = philox4x32(
            {static_cast<uint32_t>(update * 100) + static_cast<uint32_t>(tokens[row]), 0, 0, 0},
            draws.key);
        double left = words[0] * 0x1p-32 + (words[1] >> 12) * 0x1p-52;
        int32_t expected = 0;
        for (const double p : probabilities(scores, row)) {
          if (p > left) break;
          left -= p;
          ++expected;
        }
        EXPECT_EQ(drawn[row], expected) << update << " " << row;
      }
    }
  }
}

TEST_P(VocabularyLoss, DrawsEveryIdAsOftenAsItsProbabilitySays) {
  constexpr int kDraws = 4000;
  std::vector<int32_t> tokens(kRows);
  std::vector<std::vector<double>> counts(kRows, std::vector<double>(kVocabulary));
  for (int32_t i = 0; i < kRows; ++i) tokens[static_cast<size_t>(i)] = i;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    const SampleDraws draws{.key = {1, 2}, .first_token = draw * kRows, .tokens = ids(tokens)};
    const std::vector<int32_t> drawn = sample(draws, {kRows, 64}, /*trains=*/false);
    for (size_t row = 0; row < kRows; ++row) {
      if (drawn[row] >= 0) ++counts[row][static_cast<size_t>(drawn[row])];
    }
  }
  for (size_t row = 0; row < kRows; ++row) {
    if (targets_[row] < 0) continue;
    const Vector expected = probabilities(logits(), row);
    double chi_squared = 0, rare = 0, rare_count = 0;
    int classes = 0;
    for (size_t id = 0; id < kVocabulary; ++id) {
      const double mean = kDraws * expected[id];
      if (mean < 5) {
        rare += mean;
        rare_count += counts[row][id];
        continue;
      }
      chi_squared += (counts[row][id] - mean) * (counts[row][id] - mean) / mean;
      ++classes;
    }
    if (rare > 0) chi_squared += (rare_count - rare) * (rare_count - rare) / rare;
    // Its mean is the number of classes less one (those that are rare are one), and its deviation
    // the root of twice that.
    EXPECT_LT(chi_squared, classes + 4 * std::sqrt(2.0 * classes)) << row;
    EXPECT_GT(classes, 5) << row;
  }
}

TEST_P(VocabularyLoss, NeedsNoGradientOfWhatDoesNotTrain) {
  const Made all = run({2, 32}, 0);
  begin(inputs_);
  const Tensor dx = garbage({kRows, kInner});
  kernels().vocabulary_cross_entropy(
      {tensor({kRows, kInner}, x_), tensor({kVocabulary}, bias_), ids(targets_)},
      *weight({kVocabulary, kInner}, w_), 0, *state_,
      {garbage({2, 32}), garbage({kRows, 2}), dx, {}, {}});
  EXPECT_EQ(floats(dx), floats(all.dx));
}

TEST_P(VocabularyLoss, SurvivesHugeLogitsAndShowsADivergedModel) {
  for (double& value : bias_) value = 0;
  for (double& value : x_) value *= 1e4;
  run({2, 32}, 0);
  EXPECT_TRUE(std::isfinite(state_->outcome().loss_sum));
  w_[kInner * 70] = std::numeric_limits<double>::quiet_NaN();
  run({2, 32}, 0);
  EXPECT_TRUE(std::isnan(state_->outcome().loss_sum));
}

TEST_P(VocabularyLoss, IsTheSameToTheBitEachTime) {
  const Made once = run({3, 64}, 0.1);
  const double loss = state_->outcome().loss_sum;
  const Made again = run({3, 64}, 0.1);
  EXPECT_EQ(state_->outcome().loss_sum, loss);
  EXPECT_EQ(floats(again.predictions), floats(once.predictions));
  EXPECT_EQ(floats(again.dx), floats(once.dx));
  EXPECT_EQ(floats(again.dw), floats(once.dw));
  EXPECT_EQ(floats(again.dbias), floats(once.dbias));
}

// Also where products take parts of packed weights: the logits are then the same to the bit.
class Bf16VocabularyLoss : public InBf16<VocabularyLoss> {};

TEST_P(Bf16VocabularyLoss, AgreesWithItsDefinition) {
  expect_definition({kRows, kVocabulary}, 0);
  expect_definition({3, 64}, 0.1);
  expect_definition({kRows, 32}, 0);
}

TEST_P(Bf16VocabularyLoss, TakesTilesOfPackedWeights) {
  const auto told = [&](WeightUse use) {
    return floats(run({3, 32}, 0, use, /*trains=*/false).predictions);
  };
  EXPECT_EQ(told(WeightUse::kInference), told(WeightUse::kTrainingOfFewTokens));
}

TEST(VocabularyTile, IsBoundedAndHoldsWholeRowsOfSmallVocabularies) {
  for (const int64_t rows : {1, 40, 614, 1024, 50000}) {
    for (const int64_t vocabulary : {23, 1000, 8192, 30522, 50265, 250002, 3000000}) {
      const TileSize tile = Kernels::vocabulary_tile(rows, vocabulary);
      EXPECT_LE(tile.rows * tile.columns, int64_t{1} << 21);
      EXPECT_LE(tile.rows, rows);
      EXPECT_TRUE(tile.columns == vocabulary || tile.columns % 32 == 0);
      EXPECT_TRUE(tile.columns == vocabulary || vocabulary > 8192);
      EXPECT_GE(tile.rows, std::min<int64_t>(rows, 256));
    }
  }
}

BERTH_INSTANTIATE_KERNELS(VocabularyLoss);
BERTH_INSTANTIATE_KERNELS(Bf16VocabularyLoss);

}  // namespace
}  // namespace berth
