// Compares focal losses and weights of labels with values that tests/record/record_class_losses.py
// recorded from PyTorch, and their gradients with finite differences of their definitions.

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "storage/base/json.h"
#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

class ClassLosses : public KernelsTest {
 protected:
  // (1 - p)^gamma times the cross-entropy of each row, where p is the probability of its label.
  static Vector focal(const Vector& logits, const std::vector<int32_t>& labels, double gamma) {
    Vector losses = reference::cross_entropy(logits, labels);
    for (double& loss : losses) loss *= std::pow(1 - std::exp(-loss), gamma);
    return losses;
  }
  // The mean over the classes of each row.
  static Vector of_sets(const Vector& logits, const Vector& targets, const BinaryLoss& loss) {
    const size_t classes = loss.positive_weights.size();
    Vector losses(logits.size() / classes);
    for (size_t i = 0; i < logits.size(); ++i) {
      const double p = 1 / (1 + std::exp(-logits[i]));
      const double weight = static_cast<double>(loss.positive_weights[i % classes]);
      const double positive = -weight * std::pow(1 - p, loss.focal_gamma) * std::log(p);
      const double negative = -std::pow(p, loss.focal_gamma) * std::log(1 - p);
      losses[i / classes] +=
          (targets[i] * positive + (1 - targets[i]) * negative) / static_cast<double>(classes);
    }
    return losses;
  }

  void expect_sum(const Vector& losses, const Vector& weights) {
    double sum = 0;
    for (size_t i = 0; i < losses.size(); ++i) sum += losses[i] * weights[i];
    EXPECT_NEAR(state_->outcome().loss_sum, sum, 1e-5 * (1 + sum));
    EXPECT_NEAR(state_->outcome().examples, std::accumulate(weights.begin(), weights.end(), 0.0),
                1e-6);
  }
};

TEST_P(ClassLosses, EqualTheRecordedOnes) {
  std::ifstream file(BERTH_TESTDATA "/class_losses.json");
  const Json cases = parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_EQ(cases.size(), 7u);
  for (const Json& recorded : cases) {
    const auto losses = recorded["losses"].get<Vector>();
    const auto rows = static_cast<int64_t>(losses.size());
    const auto classes = recorded["classes"].get<int64_t>();
    const auto gamma = recorded["gamma"].get<double>();
    const Tensor logits = tensor({rows, classes}, recorded["logits"].get<Vector>());
    const Tensor dlogits = garbage({rows, classes});
    begin(inputs_);
    if (recorded["kind"] == "softmax") {
      kernels().focal_cross_entropy({logits, ids(recorded["labels"].get<std::vector<int32_t>>())},
                                    gamma, *state_, dlogits);
    } else {
      const Tensor targets = tensor({rows, classes}, recorded["targets"].get<Vector>());
      const auto weights = recorded["positive_weights"].get<std::vector<float>>();
      kernels().weighted_binary_cross_entropy(
          {logits, targets}, {.focal_gamma = gamma, .positive_weights = weights}, *state_, dlogits);
    }
    expect_sum(losses, Vector(losses.size(), 1));
    expect_near(dlogits, recorded["gradient"].get<Vector>(), 1e-5, "dlogits");
  }
}

TEST_P(ClassLosses, GradientsOfTheSoftmaxAreTheDefinitions) {
  constexpr int64_t kRows = 33, kClasses = 4;
  std::vector<int32_t> labels = random_ids(kRows, kClasses);
  labels[1] = -100;
  Vector weights = random(kRows);
  for (double& weight : weights) weight = std::abs(weight);
  const Vector logits = random(kRows * kClasses, 2);
  for (const double gamma : {0.3, 1.0, 2.0, 5.0}) {
    begin(inputs_);
    const Tensor dlogits = garbage({kRows, kClasses});
    kernels().focal_cross_entropy(
        {tensor({kRows, kClasses}, logits), ids(labels), tensor({kRows}, weights)}, gamma, *state_,
        dlogits);
    Vector counted = weights;
    counted[1] = 0;
    expect_sum(focal(logits, labels, gamma), counted);
    expect_near(dlogits,
                reference::numeric_gradient(
                    [&](const Vector& x) { return focal(x, labels, gamma); }, logits, counted),
                1e-5, "dlogits");
  }
}

TEST_P(ClassLosses, GradientsOfSetsAreTheDefinitions) {
  constexpr int64_t kRows = 9, kClasses = 5;
  Vector targets, weights = random(kRows);
  for (const int32_t id : random_ids(kRows * kClasses, 4)) targets.push_back(id / 3.0);
  for (double& weight : weights) weight = std::abs(weight);
  const Vector logits = random(kRows * kClasses, 2);
  const std::vector<float> positive_weights = {1, 0, 0.25f, 30, 4};
  for (const double gamma : {0.0, 0.3, 1.0, 2.0, 5.0}) {
    begin(inputs_);
    const BinaryLoss loss{.focal_gamma = gamma, .positive_weights = positive_weights};
    const Tensor dlogits = garbage({kRows, kClasses});
    kernels().weighted_binary_cross_entropy(
        {tensor({kRows, kClasses}, logits), tensor({kRows, kClasses}, targets),
         tensor({kRows}, weights)},
        loss, *state_, dlogits);
    const auto definition = [&](const Vector& x) { return of_sets(x, targets, loss); };
    expect_sum(definition(logits), weights);
    expect_near(dlogits, reference::numeric_gradient(definition, logits, weights), 1e-5, "dlogits");
  }
}

TEST_P(ClassLosses, SurviveHugeLogits) {
  for (const double gamma : {0.5, 2.0}) {
    begin(inputs_);
    const Tensor logits = tensor({2, 2}, {1e4, -1e4, 1e4, -1e4});
    const Tensor dlogits = garbage({2, 2});
    kernels().focal_cross_entropy({logits, ids({0, 1})}, gamma, *state_, dlogits);
    EXPECT_NEAR(state_->outcome().loss_sum, 2e4, 1e-3);
    expect_near(dlogits, {0, 0, 1, -1}, 1e-6, "dlogits");
    begin(inputs_);
    kernels().weighted_binary_cross_entropy({logits, tensor({2, 2}, {1, 0, 0, 1})},
                                            {.focal_gamma = gamma}, *state_, dlogits);
    EXPECT_NEAR(state_->outcome().loss_sum, 1e4, 1e-3);
    expect_near(dlogits, {0, 0, 0.5, -0.5}, 1e-6, "dlogits");
  }
}

TEST_P(ClassLosses, ShowADivergedModel) {
  const Tensor logits = tensor({1, 3}, {0, std::numeric_limits<double>::quiet_NaN(), 1});
  kernels().focal_cross_entropy({logits, ids({0})}, 2, *state_, {});
  EXPECT_TRUE(std::isnan(state_->outcome().loss_sum));
}

BERTH_INSTANTIATE_KERNELS(ClassLosses);

}  // namespace
}  // namespace berth
