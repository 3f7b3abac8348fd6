// The losses of cross-encoders. There are few logits, so one thread computes them, in double.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/model/reranking.h"

namespace berth {
namespace {

// The passages of a row: their logits x, what they should be, and the derivatives of the loss.
struct PassageRow {
  std::span<const double> x, targets;
  std::span<double> dx;
};

// log(1 + exp(x)), where nothing overflows.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double sigmoid_of(double x) {
  const double small = std::exp(-std::abs(x));
  return (x >= 0 ? 1 : small) / (1 + small);
}

// As torch.nn.BCEWithLogitsLoss with a pos_weight.
double binary_loss(const PassageRow& row, double positive_weight) {
  double sum = 0;
  for (size_t i = 0; i < row.x.size(); ++i) {
    const double target = row.targets[i], factor = positive_weight * target;
    sum += (1 - target) * softplus(row.x[i]) + factor * softplus(-row.x[i]);
    const double probability = sigmoid_of(row.x[i]);
    row.dx[i] = (1 - target) * probability - factor * (1 - probability);
  }
  return sum;
}

double squared_loss(const PassageRow& row) {
  double sum = 0;
  for (size_t i = 0; i < row.x.size(); ++i) {
    const double error = row.x[i] - row.targets[i];
    sum += error * error;
    row.dx[i] = 2 * error;
  }
  return sum;
}

double softmax_loss(const PassageRow& row) {
  const double most = *std::ranges::max_element(row.x);
  double sum = 0;
  for (size_t i = 0; i < row.x.size(); ++i) sum += row.dx[i] = std::exp(row.x[i] - most);
  for (double& value : row.dx) value /= sum;
  row.dx[0] -= 1;
  return std::log(sum) + most - row.x[0];
}

// The discount of a rank from 0 on is 1 / log2(rank + 2).
double discount(size_t rank) { return 1 / std::log2(static_cast<double>(rank) + 2); }

// The first passage has the gain 1 and the others have none. Each pair of it with another one costs
// log2(1 + exp(difference)), times a weight that depends on both ranks.
double lambda_loss(const PassageRow& row) {
  constexpr double kMu = 10, kLn2 = 0.6931471805599453;
  std::vector<size_t> ranking(row.x.size()), rank(row.x.size());
  for (size_t i = 0; i < ranking.size(); ++i) ranking[i] = i;
  std::ranges::stable_sort(ranking, [&](size_t a, size_t b) { return row.x[a] > row.x[b]; });
  for (size_t i = 0; i < ranking.size(); ++i) rank[ranking[i]] = i;
  double sum = 0;
  row.dx[0] = 0;
  for (size_t i = 1; i < row.x.size(); ++i) {
    const size_t apart = rank[i] > rank[0] ? rank[i] - rank[0] : rank[0] - rank[i];
    const double weight = (kMu * std::abs(discount(apart - 1) - discount(apart)) +
                           std::abs(discount(rank[0]) - discount(rank[i]))) /
                          kLn2;
    const double difference = row.x[i] - row.x[0];
    sum += weight * softplus(difference);
    row.dx[i] = weight * sigmoid_of(difference);
    row.dx[0] -= row.dx[i];
  }
  return sum;
}

// The squared errors of the differences between the first passage's score and each other one's.
double margin_loss(const PassageRow& row) {
  double sum = 0;
  row.dx[0] = 0;
  for (size_t i = 1; i < row.x.size(); ++i) {
    const double error = (row.x[0] - row.x[i]) - (row.targets[0] - row.targets[i]);
    sum += error * error;
    row.dx[0] += 2 * error;
    row.dx[i] = -2 * error;
  }
  return sum;
}

// The loss of a row, and how many terms it is a sum of.
double loss_of(const PassageRow& row, const RerankingObjective& objective, double& terms) {
  terms = static_cast<double>(row.x.size());
  switch (objective.loss) {
    case RerankingLoss::kBinaryCrossEntropy:
      return binary_loss(row, objective.positive_weight);
    case RerankingLoss::kSquaredError:
      return squared_loss(row);
    case RerankingLoss::kSoftmax:
      terms = 1;
      return softmax_loss(row);
    case RerankingLoss::kLambda:
      terms -= 1;
      return lambda_loss(row);
    case RerankingLoss::kMarginMse:
      terms -= 1;
      return margin_loss(row);
  }
  return 0;
}

}  // namespace

void Kernels::reranking_loss(const LossInputs& inputs, const RerankingObjective& objective,
                             StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "reranking_loss", bytes_of({inputs.logits, dlogits}));
  const int64_t rows = inputs.logits.rows(), passages = inputs.logits.columns();
  assert(!compares_passages(objective.loss) || passages > 1);
  const auto size = static_cast<size_t>(passages);
  std::vector<double> x(size), targets(size), dx(size);
  for (int64_t b = 0; b < rows; ++b) {
    const float* const logits = inputs.logits.f32() + b * passages;
    std::copy(logits, logits + passages, x.begin());
    for (size_t i = 0; i < size; ++i) {
      targets[i] = inputs.targets
                       ? double{inputs.targets.f32()[b * passages + static_cast<int64_t>(i)]}
                       : (i == 0 ? 1 : 0);
    }
    double terms = 1;
    const double loss = loss_of({x, targets, dx}, objective, terms);
    const double weight = inputs.weights ? double{inputs.weights.f32()[b]} : 1;
    state.loss_sum += weight * loss / terms;
    state.examples += weight;
    if (!dlogits) continue;
    float* const gradient = dlogits.f32() + b * passages;
    for (size_t i = 0; i < size; ++i) gradient[i] = static_cast<float>(weight / terms * dx[i]);
  }
}

}  // namespace berth
