// Compares the losses of cross-encoders with values that tests/record/record_reranking.py recorded
// from sentence-transformers and torch.

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

RerankingObjective objective_of(const std::string& name) {
  if (name == "mse") return {.loss = RerankingLoss::kSquaredError};
  if (name == "softmax") return {.loss = RerankingLoss::kSoftmax};
  if (name == "lambda") return {.loss = RerankingLoss::kLambda};
  if (name == "margin_mse") return {.loss = RerankingLoss::kMarginMse};
  return {.positive_weight = name == "weighted_bce" ? 4.0 : 1.0};
}

class RerankingLosses : public KernelsTest {
 protected:
  static Json recorded() {
    std::ifstream file(BERTH_TESTDATA "/metrics/reranking.json");
    return parse_json(std::string(std::istreambuf_iterator<char>(file), {}))["losses"];
  }
};

TEST_P(RerankingLosses, EqualTheRecordedOnes) {
  for (const Json& recorded : recorded()) {
    SCOPED_TRACE(recorded["loss"].get<std::string>());
    const auto rows = static_cast<int64_t>(recorded["logits"].size());
    const auto passages = static_cast<int64_t>(recorded["logits"][0].size());
    Vector logits, gradient, scores;
    for (const Json& row : recorded["logits"]) logits.insert(logits.end(), row.begin(), row.end());
    if (recorded.contains("scores")) {
      for (const Json& row : recorded["scores"])
        scores.insert(scores.end(), row.begin(), row.end());
    }
    for (const Json& row : recorded["gradient"]) {
      for (const Json& value : row) gradient.push_back(value.get<double>() * double(rows));
    }
    begin(inputs_);
    const Tensor dlogits = garbage({rows, passages});
    const Tensor targets = scores.empty() ? Tensor() : tensor({rows, passages}, scores);
    kernels().reranking_loss({tensor({rows, passages}, logits), targets},
                             objective_of(recorded["loss"]), *state_, dlogits);
    const double value = recorded["value"];
    const UpdateOutcome outcome = state_->outcome();
    EXPECT_EQ(outcome.examples, double(rows));
    EXPECT_NEAR(outcome.loss_sum / double(rows), value, 1e-5 * (1 + value));
    expect_near(dlogits, gradient, 1e-5, "dlogits");
  }
}

TEST_P(RerankingLosses, TargetsAndWeightsCount) {
  const Vector logits = {0.5, -2, 3}, targets = {1, 0.25, 0}, weights = {2, 1, 0};
  begin(inputs_);
  const Tensor dlogits = garbage({3, 1});
  kernels().reranking_loss({tensor({3, 1}, logits), tensor({3, 1}, targets), tensor({3}, weights)},
                           {.positive_weight = 3}, *state_, dlogits);
  // 2 * 3 log(1 + e^-0.5) + 0.75 log(1 + e^-2) + 0.75 log(1 + e^2)
  EXPECT_NEAR(state_->outcome().loss_sum, 4.5348539, 1e-5);
  EXPECT_EQ(state_->outcome().examples, 3);
  expect_near(dlogits, {-2.2652440, -0.5711956, 0}, 1e-5, "dlogits");
}

BERTH_INSTANTIATE_KERNELS(RerankingLosses);

}  // namespace
}  // namespace berth
