#include "tests/trainer/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

class Heads : public KernelsTest {};

TEST_P(Heads, GatherRowsPicksThem) {
  const Tensor x = tensor({4, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  const Tensor y = garbage({2, 3});
  kernels().gather_rows(x, ids({2, 0}), y);
  expect_near(y, {20, 21, 22, 0, 1, 2}, 0, "y");
}

TEST_P(Heads, GatherRowsBackwardZeroesTheRest) {
  const Tensor dx = garbage({4, 3});
  kernels().gather_rows_backward(tensor({2, 3}, {1, 2, 3, 4, 5, 6}), ids({2, 0}), dx);
  expect_near(dx, {4, 5, 6, 0, 0, 0, 1, 2, 3, 0, 0, 0}, 0, "dx");
}

class CrossEntropy : public KernelsTest {
 protected:
  void check(int64_t rows, int64_t classes, double scale) {
    begin(inputs_);
    const Vector logits = random(rows * classes, scale);
    const std::vector<int32_t> labels = random_ids(rows, static_cast<int32_t>(classes));
    const Tensor dlogits = garbage({rows, classes});
    kernels().cross_entropy(tensor({rows, classes}, logits), ids(labels), *state_, dlogits);
    const Vector losses = reference::cross_entropy(logits, labels);
    double sum = 0;
    for (const double loss : losses) sum += loss;
    const StepOutcome outcome = kernels().read_step(*state_);
    EXPECT_NEAR(outcome.loss_sum, sum, 1e-6 * (1 + sum));
    EXPECT_EQ(outcome.examples, static_cast<double>(rows));
    if (classes > 100) return;
    expect_near(dlogits,
                reference::numeric_gradient(
                    [&](const Vector& x) { return reference::cross_entropy(x, labels); }, logits,
                    Vector(labels.size(), 1.0)),
                1e-5, "dlogits");
  }
};

TEST_P(CrossEntropy, AgreesWithItsDefinition) {
  check(1, 2, 1);
  check(33, 4, 3);
  check(5, 37, 10);
}

TEST_P(CrossEntropy, OfAVocabularyAgrees) { check(3, 30522, 2); }

TEST_P(CrossEntropy, SurvivesHugeLogits) {
  const Tensor dlogits = garbage({2, 2});
  kernels().cross_entropy(tensor({2, 2}, {1e4, -1e4, 1e4, -1e4}), ids({0, 1}), *state_, dlogits);
  EXPECT_NEAR(kernels().read_step(*state_).loss_sum, 2e4, 1e-3);
  expect_near(dlogits, {0, 0, 1, -1}, 1e-6, "dlogits");
}

TEST_P(CrossEntropy, RowsWithoutALabelDoNotCount) {
  const Tensor dlogits = garbage({3, 2});
  kernels().cross_entropy(tensor({3, 2}, {5, 1, 0, 0, 7, 2}), ids({-100, 1, -1}), *state_, dlogits);
  EXPECT_NEAR(kernels().read_step(*state_).loss_sum, std::log(2), 1e-6);
  EXPECT_EQ(kernels().read_step(*state_).examples, 1);
  expect_near(dlogits, {0, 0, 0.5, -0.5, 0, 0}, 1e-6, "dlogits");
}

TEST_P(CrossEntropy, ShowsADivergedModel) {
  const Tensor logits = tensor({1, 3}, {0, std::numeric_limits<double>::quiet_NaN(), 1});
  kernels().cross_entropy(logits, ids({0}), *state_, {});
  EXPECT_TRUE(std::isnan(kernels().read_step(*state_).loss_sum));
}

TEST_P(CrossEntropy, SumsOverMicroBatchesUntilTheNextStep) {
  const Tensor logits = tensor({2, 2}, {0, 0, 0, 0}), labels = ids({0, 1});
  kernels().cross_entropy(logits, labels, *state_, {});
  kernels().cross_entropy(logits.first(1), labels.first(1), *state_, {});
  EXPECT_NEAR(kernels().read_step(*state_).loss_sum, 3 * std::log(2), 1e-6);
  EXPECT_EQ(kernels().read_step(*state_).examples, 3);
  kernels().begin_step(*state_, inputs_);
  EXPECT_EQ(kernels().read_step(*state_).loss_sum, 0);
  EXPECT_EQ(kernels().read_step(*state_).examples, 0);
}

BERTH_INSTANTIATE_KERNELS(Heads);
BERTH_INSTANTIATE_KERNELS(CrossEntropy);

}  // namespace
}  // namespace berth
