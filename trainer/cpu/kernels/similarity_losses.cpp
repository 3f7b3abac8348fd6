// The losses of embeddings that are compared. Embeddings are fp32, sums are double. The passes over
// all pairs of a batch run on all threads, and what compares rows by their labels on one.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/model/similarity.h"

namespace berth {
namespace {

constexpr double kLeastUnit = 1e-12;   // of a length, as in torch.nn.functional.normalize
constexpr double kLeastCosine = 1e-8;  // and as in torch.cosine_similarity
constexpr double kShift = 1e-6;  // of differences, as in torch.nn.functional.pairwise_distance
// Equal texts have embeddings that differ by rounding, because they stand elsewhere in the batch.
// The cosines of such embeddings are no farther apart.
constexpr float kRounding = 1e-6f;

double dot_product(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// The lengths of the rows of x, of which none counts as shorter than `least`.
std::vector<double> lengths_of(ConstTensor x, double least) {
  std::vector<double> lengths;
  for (int64_t r = 0; r < x.rows(); ++r) {
    const float* row = x.f32() + r * x.columns();
    lengths.push_back(std::max(least, std::sqrt(dot_product(row, row, x.columns()))));
  }
  return lengths;
}

// The losses of examples, which threads compute. One thread adds them up in order.
class ExampleLosses {
 public:
  explicit ExampleLosses(const GroupInputs& inputs)
      : weights_(inputs.weights ? inputs.weights.f32() : nullptr),
        losses_(inputs.has_loss ? static_cast<size_t>(inputs.examples()) : 0) {}

  double weight(int64_t example) const {
    return weights_ != nullptr ? double{weights_[example]} : 1.0;
  }
  void set(int64_t example, double loss) { losses_[static_cast<size_t>(example)] = loss; }

  void add_to(StepState& state) const {
    for (size_t i = 0; i < losses_.size(); ++i) {
      const double weight = this->weight(static_cast<int64_t>(i));
      state.loss_sum += weight * losses_[i];
      state.examples += weight;
    }
  }

 private:
  const float* weights_;
  std::vector<double> losses_;
};

// ---- Pairs ------------------------------------------------------------------------------------

enum class Measure { kCosine, kAngle, kCosineDistance, kEuclidean, kManhattan };

// A number that says how near, or how far apart, two embeddings are, and its gradient.
class PairMeasure {
 public:
  // `least`: no length counts as shorter. `shift` is added to each difference of a distance.
  PairMeasure(Measure measure, int64_t size, double least, double shift = 0)
      : measure_(measure), size_(size), least_(least), shift_(shift) {}

  double value(const float* u, const float* v) const {
    switch (measure_) {
      case Measure::kCosine:
        return cosine(u, v);
      case Measure::kCosineDistance:
        return 1 - cosine(u, v);
      case Measure::kAngle:
        return std::abs(cosine(u, v) + sine(u, v));
      case Measure::kEuclidean:
      case Measure::kManhattan:
        break;
    }
    double sum = 0;
    for (int64_t i = 0; i < size_; ++i) {
      const double apart = difference(u, v, i);
      sum += measure_ == Measure::kEuclidean ? apart * apart : std::abs(apart);
    }
    return measure_ == Measure::kEuclidean ? std::sqrt(sum) : sum;
  }

  // Adds the gradients of u and v to du and dv, where `dvalue` is the gradient of value(u, v).
  void add_gradient(const float* u, const float* v, double dvalue, float* du, float* dv) const {
    if (dvalue == 0) return;
    switch (measure_) {
      case Measure::kCosine:
        return add_cosine_gradient(u, v, dvalue, du, dv);
      case Measure::kCosineDistance:
        return add_cosine_gradient(u, v, -dvalue, du, dv);
      case Measure::kAngle:
        return add_angle_gradient(u, v, dvalue, du, dv);
      case Measure::kEuclidean:
      case Measure::kManhattan:
        break;
    }
    const double length = measure_ == Measure::kEuclidean ? value(u, v) : 1;
    if (length == 0) return;
    for (int64_t i = 0; i < size_; ++i) {
      double along = difference(u, v, i) / length;
      if (measure_ == Measure::kManhattan) along = along > 0 ? 1 : along < 0 ? -1 : 0;
      du[i] += static_cast<float>(dvalue * along);
      dv[i] -= static_cast<float>(dvalue * along);
    }
  }

 private:
  double length(const float* x) const {
    return std::max(least_, std::sqrt(dot_product(x, x, size_)));
  }
  double difference(const float* u, const float* v, int64_t i) const {
    return double{u[i]} - double{v[i]} + shift_;
  }
  double cosine(const float* u, const float* v) const {
    return dot_product(u, v, size_) / (length(u) * length(v));
  }

  // u and v as complex vectors: the first half of their numbers are the real parts. This is the
  // imaginary part of the product of v and the conjugate of u.
  double sine(const float* u, const float* v) const {
    const int64_t half = (size_ + 1) / 2;
    double sum = 0;
    for (int64_t i = half; i < size_; ++i) {
      sum += double{u[i]} * double{v[i - half]} - double{u[i - half]} * double{v[i]};
    }
    return sum / (length(u) * length(v));
  }

  void add_cosine_gradient(const float* u, const float* v, double dcosine, float* du,
                           float* dv) const {
    const double of_u = length(u), of_v = length(v), cosine = this->cosine(u, v);
    for (int64_t i = 0; i < size_; ++i) {
      const double along_u = double{u[i]} / of_u, along_v = double{v[i]} / of_v;
      du[i] += static_cast<float>(dcosine * (along_v - cosine * along_u) / of_u);
      dv[i] += static_cast<float>(dcosine * (along_u - cosine * along_v) / of_v);
    }
  }

  // u turned by a right angle: the number that stands beside v[i] in sine(u, v), for sign 1. For
  // sign -1, v turned, which stands beside u[i].
  double turned(const float* x, int64_t i, double sign) const {
    const int64_t half = (size_ + 1) / 2;
    if (i >= half) return -sign * double{x[i - half]};
    return i + half < size_ ? sign * double{x[i + half]} : 0;
  }

  void add_angle_gradient(const float* u, const float* v, double dvalue, float* du,
                          float* dv) const {
    const double of_u = length(u), of_v = length(v), sum = cosine(u, v) + sine(u, v);
    const double dsum = sum > 0 ? dvalue : sum < 0 ? -dvalue : 0;
    for (int64_t i = 0; i < size_; ++i) {
      const double beside_u = (double{v[i]} + turned(v, i, -1)) / of_v,
                   beside_v = (double{u[i]} + turned(u, i, 1)) / of_u;
      du[i] += static_cast<float>(dsum * (beside_u - sum * double{u[i]} / of_u) / of_u);
      dv[i] += static_cast<float>(dsum * (beside_v - sum * double{v[i]} / of_v) / of_v);
    }
  }

  const Measure measure_;
  const int64_t size_;
  const double least_, shift_;
};

Measure distance_measure(EmbeddingDistance distance) {
  switch (distance) {
    case EmbeddingDistance::kCosine:
      return Measure::kCosineDistance;
    case EmbeddingDistance::kEuclidean:
      return Measure::kEuclidean;
    case EmbeddingDistance::kManhattan:
      break;
  }
  return Measure::kManhattan;
}

PairMeasure measure_of(SimilarityLoss loss, const SimilarityObjective& objective, int64_t size) {
  if (loss == SimilarityLoss::kCosent) return {Measure::kCosine, size, kLeastUnit};
  if (loss == SimilarityLoss::kAngle) return {Measure::kAngle, size, kLeastUnit};
  return {distance_measure(objective.distance), size, kLeastCosine, kShift};
}

// log(exp(a) + exp(b)), also where one of them is -infinity.
double log_add(double a, double b) {
  const double most = std::max(a, b);
  if (std::isinf(most)) return most;
  return most + std::log1p(std::exp(std::min(a, b) - most));
}

// The logarithm of 1 + the sum of exp(s_i - s_j) over all pairs of rows where row j has the larger
// label. Here s is a similarity times the scale. Sets the gradients of the similarities.
double cosent_loss(const std::vector<double>& similarities, const float* labels, double scale,
                   std::vector<double>& gradients) {
  const size_t rows = similarities.size();
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t row) { return labels[row]; });
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const auto score = [&](size_t place) { return scale * similarities[order[place]]; };
  // By place in the order: the logarithms of the sums of exp(s) of the places before it, and of
  // exp(-s) of the places from it on.
  std::vector<double> before(rows + 1, kNothing), behind(rows + 1, kNothing);
  for (size_t i = 0; i < rows; ++i) before[i + 1] = log_add(before[i], score(i));
  for (size_t i = rows; i > 0; --i) behind[i - 1] = log_add(behind[i], -score(i - 1));
  std::vector<double> above(rows), below(rows);
  double loss = 0;
  for (size_t begin = 0, end = 0; begin < rows; begin = end) {
    while (end < rows && labels[order[end]] == labels[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) {  // rows of one label
      above[i] = score(i) + behind[end];
      below[i] = before[begin] - score(i);
      loss = log_add(loss, above[i]);
    }
  }
  for (size_t i = 0; i < rows; ++i) {
    gradients[order[i]] = scale * (std::exp(above[i] - loss) - std::exp(below[i] - loss));
  }
  return loss;
}

// The sum of two kinds of squares. Like rows (label 1) add their distance if it is larger than the
// least one of unlike rows (label 0). Unlike rows add what they lack of the margin if their
// distance is less than the largest one of like rows. Where one kind is absent, the mean of the
// other takes the place of its limit. Sets the gradients of the distances.
double online_contrastive_loss(const std::vector<double>& distances, const float* labels,
                               double margin, std::vector<double>& gradients) {
  struct Kind {
    size_t rows = 0;
    double sum = 0, nearest = std::numeric_limits<double>::infinity(), farthest = 0;
    double mean() const { return sum / static_cast<double>(rows); }
  } like, unlike;
  for (size_t i = 0; i < distances.size(); ++i) {
    Kind& kind = labels[i] == 1 ? like : unlike;
    kind.farthest = kind.rows == 0 ? distances[i] : std::max(kind.farthest, distances[i]);
    kind.nearest = std::min(kind.nearest, distances[i]);
    kind.sum += distances[i];
    ++kind.rows;
  }
  const double most = like.rows > 0 ? like.farthest : unlike.mean(),
               least = unlike.rows > 0 ? unlike.nearest : like.mean();
  double loss = 0;
  for (size_t i = 0; i < distances.size(); ++i) {
    const double distance = distances[i], lacking = std::max(0.0, margin - distance);
    gradients[i] = 0;
    if (labels[i] == 1 && distance > least) {
      loss += distance * distance;
      gradients[i] = 2 * distance;
    } else if (labels[i] != 1 && distance < most) {
      loss += lacking * lacking;
      gradients[i] = -2 * lacking;
    }
  }
  return loss;
}

}  // namespace

void Kernels::cosine_squared_error(const GroupInputs& inputs, StepState& state, Tensor outputs,
                                   Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "cosine_squared_error",
                           bytes_of({inputs.embeddings, dembeddings}));
  const ConstTensor x = inputs.embeddings;
  const int64_t examples = inputs.examples(), hidden = x.columns();
  assert(inputs.group == 2 && outputs.elements() == examples);
  const std::vector<double> lengths = lengths_of(x, kLeastCosine);
  ExampleLosses losses(inputs);
  parallel(examples, row_grain(4 * hidden), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const float *u = x.f32() + 2 * b * hidden, *v = u + hidden;
      const double of_u = lengths[static_cast<size_t>(2 * b)],
                   of_v = lengths[static_cast<size_t>(2 * b + 1)];
      const double cosine = dot_product(u, v, hidden) / (of_u * of_v);
      outputs.f32()[b] = static_cast<float>(cosine);
      if (!inputs.has_loss) continue;
      const double error = cosine - static_cast<double>(inputs.targets.f32()[b]);
      losses.set(b, error * error);
      if (!dembeddings) continue;
      const double dcosine = 2 * error * losses.weight(b);
      float *du = dembeddings.f32() + 2 * b * hidden, *dv = du + hidden;
      for (int64_t h = 0; h < hidden; ++h) {
        const double along_u = double{u[h]} / of_u, along_v = double{v[h]} / of_v;
        du[h] = static_cast<float>(dcosine * (along_v - cosine * along_u) / of_u);
        dv[h] = static_cast<float>(dcosine * (along_u - cosine * along_v) / of_v);
      }
    }
  });
  losses.add_to(state);
}

void Kernels::pair_loss(const GroupInputs& inputs, SimilarityLoss loss,
                        const SimilarityObjective& objective, StepState& state,
                        Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "pair_loss",
                           bytes_of({inputs.embeddings, dembeddings}));
  const ConstTensor x = inputs.embeddings;
  const int64_t examples = inputs.examples(), hidden = x.columns();
  assert(inputs.group == 2 && inputs.has_loss && inputs.targets.elements() == examples);
  const PairMeasure measure = measure_of(loss, objective, hidden);
  const float* const labels = inputs.targets.f32();
  std::vector<double> values(static_cast<size_t>(examples)), gradients(values.size());
  const auto for_pairs = [&](const auto& fn) {
    parallel(examples, row_grain(4 * hidden), [&](int64_t begin, int64_t end, int) {
      for (int64_t b = begin; b < end; ++b) fn(b, x.f32() + 2 * b * hidden);
    });
  };
  for_pairs([&](int64_t b, const float* u) {
    values[static_cast<size_t>(b)] = measure.value(u, u + hidden);
  });
  if (compares_rows(loss)) {
    // A loss of the batch counts as the loss of each of its rows.
    assert(!inputs.weights);
    const double of_batch =
        loss == SimilarityLoss::kOnlineContrastive
            ? online_contrastive_loss(values, labels, objective.margin, gradients)
            : cosent_loss(values, labels, objective.scale, gradients);
    state.loss_sum += static_cast<double>(examples) * of_batch;
    state.examples += static_cast<double>(examples);
    for (double& gradient : gradients) gradient *= static_cast<double>(examples);
  } else {
    ExampleLosses losses(inputs);
    for (int64_t b = 0; b < examples; ++b) {
      const auto at = static_cast<size_t>(b);
      const double label = double{labels[b]}, distance = values[at];
      const double lacking = std::max(0.0, objective.margin - distance);
      losses.set(b, (label * distance * distance + (1 - label) * lacking * lacking) / 2);
      gradients[at] = losses.weight(b) * (label * distance - (1 - label) * lacking);
    }
    losses.add_to(state);
  }
  if (!dembeddings) return;
  zero(dembeddings);
  for_pairs([&](int64_t b, const float* u) {
    float* const du = dembeddings.f32() + 2 * b * hidden;
    measure.add_gradient(u, u + hidden, gradients[static_cast<size_t>(b)], du, du + hidden);
  });
}

void Kernels::triplet_loss(const GroupInputs& inputs, const SimilarityObjective& objective,
                           StepState& state, Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "triplet_loss",
                           bytes_of({inputs.embeddings, dembeddings}));
  const ConstTensor x = inputs.embeddings;
  const int64_t examples = inputs.examples(), hidden = x.columns();
  assert(inputs.group == 3 && inputs.has_loss);
  const PairMeasure measure(distance_measure(objective.distance), hidden, kLeastUnit);
  ExampleLosses losses(inputs);
  if (dembeddings) zero(dembeddings);
  parallel(examples, row_grain(8 * hidden), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const float* const anchor = x.f32() + 3 * b * hidden;
      const float *positive = anchor + hidden, *negative = positive + hidden;
      const double lacking =
          measure.value(anchor, positive) - measure.value(anchor, negative) + objective.margin;
      losses.set(b, std::max(0.0, lacking));
      if (!dembeddings || lacking <= 0) continue;
      float* const d = dembeddings.f32() + 3 * b * hidden;
      const double weight = losses.weight(b);
      measure.add_gradient(anchor, positive, weight, d, d + hidden);
      measure.add_gradient(anchor, negative, -weight, d, d + 2 * hidden);
    }
  });
  losses.add_to(state);
}

// ---- A teacher --------------------------------------------------------------------------------

namespace {

// The teacher's scores of the texts of example `b` but the first one.
std::vector<double> teacher_scores(const GroupInputs& inputs, int64_t b) {
  const int64_t others = inputs.group - 1;
  std::vector<double> scores;
  for (int64_t i = 0; i < others && inputs.scores; ++i) {
    scores.push_back(double{inputs.scores.f32()[b * others + i]});
  }
  if (inputs.scores) return scores;
  const int64_t size = inputs.vectors.columns();
  const PairMeasure cosine(Measure::kCosine, size, kLeastCosine);
  const float* const first = inputs.vectors.f32() + b * inputs.group * size;
  for (int64_t i = 1; i <= others; ++i) scores.push_back(cosine.value(first, first + i * size));
  return scores;
}

// The mean squared error of the differences to the first score. Sets the gradients of `scores`.
double margin_loss(const std::vector<double>& scores, const std::vector<double>& teacher,
                   std::vector<double>& gradients) {
  const double count = static_cast<double>(scores.size() - 1);
  double loss = 0;
  gradients.assign(scores.size(), 0);
  for (size_t i = 1; i < scores.size(); ++i) {
    const double error = (scores[0] - scores[i]) - (teacher[0] - teacher[i]);
    loss += error * error / count;
    gradients[0] += 2 * error / count;
    gradients[i] -= 2 * error / count;
  }
  return loss;
}

// The logarithms of the softmax of scale * scores.
std::vector<double> scaled_log_softmax(const std::vector<double>& scores, double scale) {
  double sum = -std::numeric_limits<double>::infinity();
  for (const double score : scores) sum = log_add(sum, scale * score);
  std::vector<double> logs;
  for (const double score : scores) logs.push_back(scale * score - sum);
  return logs;
}

// The Kullback-Leibler divergence of the softmax of the scores from the teacher's, divided by the
// square of the scale. Sets the gradients of `scores`.
double divergence(const std::vector<double>& scores, const std::vector<double>& teacher,
                  double scale, double teacher_scale, std::vector<double>& gradients) {
  const std::vector<double> own = scaled_log_softmax(scores, scale),
                            wanted = scaled_log_softmax(teacher, teacher_scale);
  double loss = 0;
  gradients.assign(scores.size(), 0);
  for (size_t i = 0; i < scores.size(); ++i) {
    const double share = std::exp(wanted[i]);
    if (share > 0) loss += share * (wanted[i] - own[i]) / (scale * scale);
    gradients[i] = (std::exp(own[i]) - share) / scale;
  }
  return loss;
}

}  // namespace

void Kernels::text_score_loss(const GroupInputs& inputs, SimilarityLoss loss,
                              const SimilarityObjective& objective, StepState& state,
                              Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "text_score_loss",
                           bytes_of({inputs.embeddings, dembeddings}));
  const ConstTensor x = inputs.embeddings;
  const int64_t examples = inputs.examples(), hidden = x.columns(), group = inputs.group;
  assert(group > 2 && (inputs.scores || inputs.vectors));
  ExampleLosses losses(inputs);
  if (dembeddings) zero(dembeddings);
  parallel(examples, row_grain(4 * group * hidden), [&](int64_t begin, int64_t end, int) {
    std::vector<double> scores(static_cast<size_t>(group - 1)), gradients;
    for (int64_t b = begin; b < end; ++b) {
      const float* const query = x.f32() + b * group * hidden;
      for (int64_t i = 1; i < group; ++i) {
        scores[static_cast<size_t>(i - 1)] = dot_product(query, query + i * hidden, hidden);
      }
      const std::vector<double> teacher = teacher_scores(inputs, b);
      losses.set(b, loss == SimilarityLoss::kMarginMse
                        ? margin_loss(scores, teacher, gradients)
                        : divergence(scores, teacher, objective.scale, objective.teacher_scale,
                                     gradients));
      if (!dembeddings) continue;
      float* const dquery = dembeddings.f32() + b * group * hidden;
      for (int64_t i = 1; i < group; ++i) {
        const double gradient = losses.weight(b) * gradients[static_cast<size_t>(i - 1)];
        for (int64_t h = 0; h < hidden; ++h) {
          dquery[h] += static_cast<float>(gradient * double{query[i * hidden + h]});
          dquery[i * hidden + h] = static_cast<float>(gradient * double{query[h]});
        }
      }
    }
  });
  losses.add_to(state);
}

void Kernels::embedding_loss(const GroupInputs& inputs, SimilarityLoss loss, StepState& state,
                             Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "embedding_loss",
                           bytes_of({inputs.embeddings, inputs.vectors, dembeddings}));
  const ConstTensor x = inputs.embeddings, y = inputs.vectors;
  const int64_t hidden = x.columns(), group = inputs.group;
  assert(y && y.columns() == hidden);
  const PairMeasure apart(Measure::kCosineDistance, hidden, kLeastCosine);
  ExampleLosses losses(inputs);
  if (dembeddings) zero(dembeddings);
  parallel(inputs.examples(), row_grain(4 * group * hidden), [&](int64_t begin, int64_t end, int) {
    std::vector<float> unused(static_cast<size_t>(hidden));
    for (int64_t b = begin; b < end; ++b) {
      const double weight = losses.weight(b) / static_cast<double>(group);
      double sum = 0;
      for (int64_t r = b * group; r < (b + 1) * group; ++r) {
        const float *own = x.f32() + r * hidden, *wanted = y.f32() + r * hidden;
        float* const d = dembeddings ? dembeddings.f32() + r * hidden : nullptr;
        if (loss == SimilarityLoss::kEmbeddingCosine) {
          sum += apart.value(own, wanted);
          if (d != nullptr) apart.add_gradient(own, wanted, weight, d, unused.data());
          continue;
        }
        for (int64_t h = 0; h < hidden; ++h) {
          const double error = double{own[h]} - double{wanted[h]};
          sum += error * error / static_cast<double>(hidden);
          if (d == nullptr) continue;
          d[h] = static_cast<float>(2 * weight * error / static_cast<double>(hidden));
        }
      }
      losses.set(b, sum / static_cast<double>(group));
    }
  });
  losses.add_to(state);
}

// ---- A batch ----------------------------------------------------------------------------------

namespace {

// Which texts the scores compare. The columns are blocks of one for each example. A block compares
// one text of each example with one text of all examples, such as the first ones with the second
// ones.
class ComparedTexts {
 public:
  ComparedTexts(int64_t group, int64_t examples, const RankingLoss& loss)
      : group_(group), examples_(examples) {
    for (int64_t text = 1; text < group; ++text) blocks_.push_back({0, text});
    if (loss.contrasts_anchors) blocks_.push_back({0, 0});
    if (loss.contrasts_positives) blocks_.push_back({1, 1});
  }

  int64_t columns() const { return std::ssize(blocks_) * examples_; }
  // The columns of first texts with texts of other kinds.
  int64_t others() const { return (group_ - 1) * examples_; }
  // The rows of the embeddings whose cosine is the score of `example` in `column`.
  int64_t asking(int64_t example, int64_t column) const {
    return group_ * example + block(column).asking;
  }
  int64_t candidate(int64_t column) const {
    return group_ * (column % examples_) + block(column).candidate;
  }

  // Calls `use` with each score that depends on a row of the embeddings: its example, its column,
  // and the row that it is compared with.
  template <typename Use>
  void for_scores_of(int64_t row, const Use& use) const {
    const int64_t text = row % group_, own = row / group_;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const int64_t first = static_cast<int64_t>(i) * examples_;
      for (int64_t e = 0; e < examples_ && blocks_[i].asking == text; ++e) {
        use(own, first + e, candidate(first + e));
      }
      for (int64_t e = 0; e < examples_ && blocks_[i].candidate == text; ++e) {
        use(e, first + own, asking(e, first + own));
      }
    }
  }

 private:
  struct Block {
    int64_t asking, candidate;  // places of texts in their examples
  };
  const Block& block(int64_t column) const {
    return blocks_[static_cast<size_t>(column / examples_)];
  }

  const int64_t group_, examples_;
  std::vector<Block> blocks_;
};

// Cosines of rows.
class Cosines {
 public:
  explicit Cosines(ConstTensor x) : x_(x), lengths_(lengths_of(x, kLeastUnit)) {}

  double length(int64_t row) const { return lengths_[static_cast<size_t>(row)]; }
  float of(int64_t a, int64_t b) const {
    const int64_t size = x_.columns();
    const double product = dot_product(x_.f32() + a * size, x_.f32() + b * size, size);
    return static_cast<float>(product / (length(a) * length(b)));
  }

 private:
  const ConstTensor x_;
  const std::vector<double> lengths_;
};

// The logarithm of the sum of exp(scale * score) over `count` scores, `stride` apart, and the
// largest of them.
double log_sum_of(const float* scores, int64_t count, int64_t stride, double scale, float largest) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += std::exp(scale * (double{scores[i * stride]} - double{largest}));
  }
  return scale * double{largest} + std::log(sum);
}

// The scores of example `own` become minus infinity where the rule says so, and where a text is
// compared with itself. A softmax gives these texts no share and no gradient. `guide_score` has the
// guide's cosine for a column.
template <typename GuideScore>
void leave_out(const FalseNegativeRule& rule, const ComparedTexts& texts, int64_t own,
               std::span<float> scores, const GuideScore& guide_score) {
  const double threshold = rule.is_on ? rule.threshold(guide_score(own)) : 0;
  for (int64_t c = 0; c < std::ssize(scores); ++c) {
    if (c == own) continue;
    const bool is_itself = texts.asking(own, c) == texts.candidate(c);
    if (!is_itself && !(rule.is_on && guide_score(c) > threshold)) continue;
    scores[static_cast<size_t>(c)] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

void Kernels::in_batch_negatives(const GroupInputs& inputs, const RankingLoss& loss,
                                 StepState& state, Tensor scores, Tensor outputs,
                                 Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "in_batch_negatives",
                           bytes_of({inputs.embeddings, dembeddings}));
  const int64_t examples = inputs.examples();
  const ComparedTexts texts(inputs.group, examples, loss);
  const int64_t columns = texts.columns();
  assert(inputs.group >= 2 && scores.rows() == examples && scores.columns() == columns);
  const Cosines cosines(inputs.embeddings);
  parallel(examples, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      float* const row = scores.f32() + b * columns;
      for (int64_t c = 0; c < columns; ++c) {
        row[c] = cosines.of(texts.asking(b, c), texts.candidate(c));
      }
      outputs.f32()[2 * b] = row[b];
      const float largest = *std::max_element(row, row + texts.others());
      outputs.f32()[2 * b + 1] = row[b] + kRounding >= largest ? 1 : 0;
    }
  });
  if (!inputs.has_loss) return;
  leave_out_scores(inputs, loss, scores);
  ranking_cross_entropy(inputs, loss, state, scores, dembeddings);
}

void Kernels::leave_out_scores(const GroupInputs& inputs, const RankingLoss& loss, Tensor scores) {
  const ComparedTexts texts(inputs.group, inputs.examples(), loss);
  if (!loss.rule.is_on && texts.columns() == texts.others()) return;
  assert(!loss.is_symmetric);
  std::optional<Cosines> guide;
  if (inputs.vectors) guide.emplace(inputs.vectors);
  parallel(inputs.examples(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      float* const row = scores.f32() + b * texts.columns();
      const auto guide_score = [&](int64_t c) {
        return double{guide ? guide->of(texts.asking(b, c), texts.candidate(c)) : row[c]};
      };
      leave_out(loss.rule, texts, b, {row, static_cast<size_t>(texts.columns())}, guide_score);
    }
  });
}

void Kernels::ranking_cross_entropy(const GroupInputs& inputs, const RankingLoss& loss,
                                    StepState& state, Tensor scores, Tensor dembeddings) {
  const int64_t examples = inputs.examples(), others = scores.columns();
  // In the other direction, each second text finds its first one: a softmax down a column.
  std::vector<double> column_sums;
  if (loss.is_symmetric) {
    column_sums.resize(static_cast<size_t>(examples));
    parallel(examples, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t c = begin; c < end; ++c) {
        const float* const column = scores.f32() + c;
        float largest = column[0];
        for (int64_t b = 1; b < examples; ++b) largest = std::max(largest, column[b * others]);
        column_sums[static_cast<size_t>(c)] =
            log_sum_of(column, examples, others, loss.scale, largest);
      }
    });
  }
  ExampleLosses losses(inputs);
  parallel(examples, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      float* const row = scores.f32() + b * others;
      const double own = loss.scale * double{row[b]};
      const double log_sum =
          log_sum_of(row, others, 1, loss.scale, *std::max_element(row, row + others));
      losses.set(b, loss.is_symmetric ? (log_sum + column_sums[static_cast<size_t>(b)]) / 2 - own
                                      : log_sum - own);
      if (!dembeddings) continue;
      // The scores become the gradients of the cosines.
      const double factor = loss.scale * losses.weight(b);
      for (int64_t c = 0; c < others; ++c) {
        const double score = loss.scale * double{row[c]}, share = std::exp(score - log_sum);
        if (!loss.is_symmetric) {
          row[c] = static_cast<float>(factor * (share - (c == b ? 1 : 0)));
          continue;
        }
        double gradient = factor * (share / 2 - (c == b ? 1 : 0));
        if (c < examples) {
          const double of_column = std::exp(score - column_sums[static_cast<size_t>(c)]);
          gradient += loss.scale * losses.weight(c) * of_column / 2;
        }
        row[c] = static_cast<float>(gradient);
      }
    }
  });
  losses.add_to(state);
  if (dembeddings) cosines_backward(inputs, loss, scores, dembeddings);
}

// Each row of x gets a sum of unit vectors, less the part of it that lies along the row itself.
void Kernels::cosines_backward(const GroupInputs& inputs, const RankingLoss& loss,
                               ConstTensor dcosines, Tensor dembeddings) {
  const ConstTensor x = inputs.embeddings;
  const int64_t hidden = x.columns(), columns = dcosines.columns();
  const ComparedTexts texts(inputs.group, inputs.examples(), loss);
  const Cosines cosines(x);
  parallel(x.rows(), 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> sum(static_cast<size_t>(hidden));
    for (int64_t r = begin; r < end; ++r) {
      std::fill(sum.begin(), sum.end(), 0.0);
      texts.for_scores_of(r, [&](int64_t example, int64_t column, int64_t other) {
        const float gradient = dcosines.f32()[example * columns + column];
        if (gradient == 0) return;
        const double factor = double{gradient} / cosines.length(other);
        const float* from = x.f32() + other * hidden;
        for (int64_t h = 0; h < hidden; ++h) {
          sum[static_cast<size_t>(h)] += factor * double{from[h]};
        }
      });
      const float* own = x.f32() + r * hidden;
      double along = 0;
      for (int64_t h = 0; h < hidden; ++h) along += sum[static_cast<size_t>(h)] * double{own[h]};
      along /= cosines.length(r) * cosines.length(r);
      for (int64_t h = 0; h < hidden; ++h) {
        const double across = sum[static_cast<size_t>(h)] - along * double{own[h]};
        dembeddings.f32()[r * hidden + h] = static_cast<float>(across / cosines.length(r));
      }
    }
  });
}

// ---- Parts of embeddings ----------------------------------------------------------------------

void Kernels::unit_prefixes(ConstTensor x, Tensor y, Tensor lengths) {
  const int64_t size = y.columns(), hidden = x.columns();
  assert(size <= hidden && y.rows() == x.rows() && lengths.elements() == x.rows());
  parallel(x.rows(), row_grain(2 * size), [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const float* const from = x.f32() + r * hidden;
      const double length = std::max(kLeastUnit, std::sqrt(dot_product(from, from, size)));
      lengths.f32()[r] = static_cast<float>(length);
      for (int64_t i = 0; i < size; ++i) {
        y.f32()[r * size + i] = static_cast<float>(double{from[i]} / length);
      }
    }
  });
}

void Kernels::unit_prefixes_backward(ConstTensor dy, ConstTensor y, ConstTensor lengths,
                                     double weight, Tensor dx) {
  const int64_t size = y.columns(), hidden = dx.columns();
  parallel(dx.rows(), row_grain(2 * size), [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const float *of_y = y.f32() + r * size, *from = dy.f32() + r * size;
      const double along = dot_product(from, of_y, size), length = double{lengths.f32()[r]};
      for (int64_t i = 0; i < size; ++i) {
        const double across = double{from[i]} - along * double{of_y[i]};
        dx.f32()[r * hidden + i] += static_cast<float>(weight * across / length);
      }
    }
  });
}

}  // namespace berth
