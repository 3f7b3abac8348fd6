#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "storage/base/json.h"
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

}  // namespace
}  // namespace berth
