#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/loops.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/model/replaced_tokens.h"

namespace berth {
namespace {

// The losses of rows. Threads compute them, each for rows of its own, and one thread adds them up
// in the order of the rows. Borrows the weights.
class RowLosses {
 public:
  // Null weights are 1.
  RowLosses(int64_t rows, ConstTensor weights)
      : weights_(weights ? weights.f32() : nullptr), losses_(static_cast<size_t>(rows)) {
    assert(!weights || weights.elements() == rows);
  }

  float weight(int64_t row) const { return weights_ != nullptr ? weights_[row] : 1.0f; }
  void set(int64_t row, double loss) { losses_[static_cast<size_t>(row)] = {loss, true}; }

  // Adds weight * loss, and the weight, of every row whose loss was set.
  void add_to(StepState& state) const {
    for (size_t row = 0; row < losses_.size(); ++row) {
      if (!losses_[row].counts) continue;
      const auto weight = static_cast<double>(this->weight(static_cast<int64_t>(row)));
      state.loss_sum += weight * losses_[row].loss;
      state.examples += weight;
    }
  }

 private:
  struct RowLoss {
    double loss = 0;
    bool counts = false;
  };
  const float* weights_;
  std::vector<RowLoss> losses_;
};

// Draws one column of each row from the row's probabilities, which come tile by tile from the first
// column on: the first one up to which the probabilities sum to more than the row's random number
// (the inverse of the distribution function). This takes one random number for a row. Gumbel noise
// would take one for each column, and the distribution is the same. Borrows what it is made from.
// Threads may add tiles of different rows.
class RowSamples {
 public:
  // Null samples: nothing is drawn.
  RowSamples(const CpuLoops& loops, const SampleDraws& draws, Tensor samples)
      : loops_(loops), draws_(draws), samples_(samples) {
    if (!samples_) return;
    assert(draws_.tokens.elements() == samples_.elements());
    std::fill_n(samples_.i32(), samples_.elements(), kNone);
    sums_.assign(static_cast<size_t>(samples_.elements()), 0);
  }

  explicit operator bool() const { return static_cast<bool>(samples_); }

  // The probabilities of columns [first, first + count) of a row.
  void add(int64_t row, const float* probabilities, int64_t first, int64_t count) {
    int32_t& sample = samples_.i32()[row];
    if (sample != kNone) return;
    const double wanted = draw(row);
    double& before = sums_[static_cast<size_t>(row)];
    const double all = before + loops_.sum(probabilities, count);
    if (all <= wanted) {
      before = all;
      return;
    }
    double sum = before;
    int64_t last = 0;  // where rounding hides the end of the sum: the last column that is possible
    for (int64_t column = 0; column < count; ++column) {
      if (!(probabilities[column] > 0)) continue;
      last = column;
      sum += static_cast<double>(probabilities[column]);
      if (sum > wanted) break;
    }
    sample = static_cast<int32_t>(first + last);
  }

  // To be called behind the last tile of a row. Where rounding left the sum of all probabilities
  // below the random number, the row gets the column `likely`.
  void finish(int64_t row, int64_t likely) {
    int32_t& sample = samples_.i32()[row];
    if (sample == kNone) sample = static_cast<int32_t>(likely);
  }

 private:
  static constexpr int32_t kNone = -1;

  // From 0 to 1, without 1.
  double draw(int64_t row) const {
    return sampling_number(draws_.key,
                           draws_.first_token + static_cast<uint64_t>(draws_.tokens.i32()[row]));
  }

  const CpuLoops& loops_;
  const SampleDraws& draws_;
  const Tensor samples_;
  std::vector<double> sums_;  // of the probabilities so far
};

double log_sum_exp(const CpuLoops& loops, const float* row, int64_t count) {
  const float max = loops.maximum(row, count);
  return static_cast<double>(max) + std::log(loops.sum_of_exp(row, max, count));
}

}  // namespace

void Kernels::cross_entropy(const LossInputs& inputs, float smoothing, StepState& state,
                            Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "cross_entropy", bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, labels = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  // The part of the target that smoothing gives to each class, also to the class of the label.
  const float share = smoothing / static_cast<float>(classes);
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(classes), [&](int64_t begin, int64_t end, int) {
    // Of logits x [C] and the label l, with q = (1 - smoothing) [c = l] + share:
    //   loss = log sum exp(x) - sum_c q_c x_c,  dx_c = weight (softmax(x)_c - q_c).
    for (int64_t b = begin; b < end; ++b) {
      const float* row = logits.f32() + b * classes;
      float* gradient = dlogits ? dlogits.f32() + b * classes : nullptr;
      const int64_t label = labels.i32()[b];
      assert(label < classes);
      // A row without a label has no loss, no weight and no gradient.
      if (label < 0) {
        if (gradient != nullptr) std::fill_n(gradient, classes, 0.0f);
        continue;
      }
      const double log_sum = log_sum_exp(loops_, row, classes);
      // sum_c q_c x_c is the label's logit, moved by `smoothing` towards the mean of all logits.
      double target_logit = static_cast<double>(row[label]);
      if (smoothing > 0) {
        const double mean = loops_.sum(row, classes) / static_cast<double>(classes);
        target_logit += static_cast<double>(smoothing) * (mean - target_logit);
      }
      losses.set(b, log_sum - target_logit);
      if (gradient == nullptr) continue;
      // Without smoothing and weights, only the label's element differs from the softmax.
      loops_.softmax(row, static_cast<float>(log_sum), classes, gradient);
      gradient[label] -= 1.0f - smoothing;
      if (smoothing == 0 && !inputs.weights) continue;
      const float weight = losses.weight(b);
      for (int64_t c = 0; c < classes; ++c) gradient[c] = weight * (gradient[c] - share);
    }
  });
  losses.add_to(state);
}

void Kernels::focal_cross_entropy(const LossInputs& inputs, double gamma, StepState& state,
                                  Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "focal_cross_entropy",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, labels = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(classes), [&](int64_t begin, int64_t end, int) {
    // Of logits x [C] and the label l, with p = softmax(x) and q = 1 - p_l:
    //   loss = -q^gamma log p_l,  d loss / d log p_l = q^gamma (gamma p_l log(p_l) / q - 1),
    //   dx_c = weight (d loss / d log p_l) ([c = l] - p_c).
    for (int64_t b = begin; b < end; ++b) {
      const float* row = logits.f32() + b * classes;
      float* gradient = dlogits ? dlogits.f32() + b * classes : nullptr;
      const int64_t label = labels.i32()[b];
      assert(label < classes);
      if (label < 0) {
        if (gradient != nullptr) std::fill_n(gradient, classes, 0.0f);
        continue;
      }
      const double log_sum = log_sum_exp(loops_, row, classes);
      const double log_p = std::min(static_cast<double>(row[label]) - log_sum, 0.0);
      const double q = -std::expm1(log_p), factor = std::pow(q, gamma);
      losses.set(b, -factor * log_p);
      if (gradient == nullptr) continue;
      const double ratio = q > 0 ? log_p / q : -1;  // its limit
      const double slope =
          static_cast<double>(losses.weight(b)) * factor * (gamma * std::exp(log_p) * ratio - 1);
      loops_.softmax(row, static_cast<float>(log_sum), classes, gradient);
      for (int64_t c = 0; c < classes; ++c) {
        gradient[c] = static_cast<float>(-slope * static_cast<double>(gradient[c]));
      }
      gradient[label] = static_cast<float>(slope * q);
    }
  });
  losses.add_to(state);
}

void Kernels::mean_squared_error(const LossInputs& inputs, StepState& state, Tensor dlogits,
                                 OverOutputs over) {
  const ProfileScope scope(pool_.profiler(), "mean_squared_error",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, targets = inputs.targets;
  const int64_t rows = logits.rows(), columns = logits.columns();
  assert(targets.elements() == logits.elements());
  const double share = over == OverOutputs::kMean ? 1 / static_cast<double>(columns) : 1;
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const double weight = 2 * share * static_cast<double>(losses.weight(b));
      double sum = 0;
      // loss = share sum (x - t)^2, so dx = 2 share weight (x - t).
      for (int64_t at = b * columns; at < (b + 1) * columns; ++at) {
        const double error =
            static_cast<double>(logits.f32()[at]) - static_cast<double>(targets.f32()[at]);
        sum += error * error;
        if (dlogits) dlogits.f32()[at] = static_cast<float>(weight * error);
      }
      losses.set(b, share * sum);
    }
  });
  losses.add_to(state);
}

void Kernels::binary_cross_entropy(const LossInputs& inputs, StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "binary_cross_entropy",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, targets = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(16 * classes), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const double weight = static_cast<double>(losses.weight(b)) / static_cast<double>(classes);
      double sum = 0;
      // With e = exp(-|x|): -log of the probability of target t is max(x, 0) - x t + log(1 + e),
      // and its derivative is sigmoid(x) - t.
      for (int64_t at = b * classes; at < (b + 1) * classes; ++at) {
        const auto x = static_cast<double>(logits.f32()[at]);
        const auto target = static_cast<double>(targets.f32()[at]);
        const double small = std::exp(-std::abs(x));  // at most 1, so that nothing overflows
        sum += std::max(x, 0.0) - x * target + std::log1p(small);
        if (!dlogits) continue;
        const double sigmoid = (x >= 0 ? 1 : small) / (1 + small);
        dlogits.f32()[at] = static_cast<float>(weight * (sigmoid - target));
      }
      losses.set(b, sum / static_cast<double>(classes));
    }
  });
  losses.add_to(state);
}

namespace {

// The focal loss of a sigmoid, (1 - p)^gamma (-log p), where p = sigmoid(z).
struct FocalTerm {
  FocalTerm(double z, double gamma) {
    const double small = std::exp(-std::abs(z)), log_of_sum = std::log1p(small);
    const double minus_log_p = std::max(-z, 0.0) + log_of_sum;
    const double minus_log_q = std::max(z, 0.0) + log_of_sum;  // q = 1 - p
    const double p = (z >= 0 ? 1 : small) / (1 + small), q = (z >= 0 ? small : 1) / (1 + small);
    const double factor = std::exp(-gamma * minus_log_q);
    loss = factor * minus_log_p;
    derivative = -factor * (gamma * p * minus_log_p + q);
  }

  double loss = 0, derivative = 0;  // by z
};

}  // namespace

void Kernels::weighted_binary_cross_entropy(const LossInputs& inputs, const BinaryLoss& loss,
                                            StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "weighted_binary_cross_entropy",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, targets = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  assert(loss.positive_weights.empty() || std::ssize(loss.positive_weights) == classes);
  const auto positive_weight = [&](int64_t c) {
    return loss.positive_weights.empty()
               ? 1.0
               : static_cast<double>(loss.positive_weights[static_cast<size_t>(c)]);
  };
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(64 * classes), [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const double weight = static_cast<double>(losses.weight(b)) / static_cast<double>(classes);
      double sum = 0;
      // With f(z) as above: loss = w t f(x) + (1 - t) f(-x).
      for (int64_t c = 0; c < classes; ++c) {
        const int64_t at = b * classes + c;
        const auto x = static_cast<double>(logits.f32()[at]);
        const double absent = 1 - static_cast<double>(targets.f32()[at]);
        const double present = positive_weight(c) * (1 - absent);
        const FocalTerm positive(x, loss.focal_gamma), negative(-x, loss.focal_gamma);
        sum += present * positive.loss + absent * negative.loss;
        if (!dlogits) continue;
        dlogits.f32()[at] = static_cast<float>(
            weight * (present * positive.derivative - absent * negative.derivative));
      }
      losses.set(b, sum / static_cast<double>(classes));
    }
  });
  losses.add_to(state);
}

void Kernels::span_cross_entropy(const SpanLossInputs& inputs, StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "span_cross_entropy",
                           bytes_of({inputs.logits, dlogits}));
  const ConstTensor logits = inputs.logits, cu_seqlens = inputs.cu_seqlens;
  const int64_t sequences = inputs.starts.elements();
  assert(logits.columns() == 2 && cu_seqlens.elements() == sequences + 1);
  RowLosses losses(sequences, inputs.weights);
  // The loss of one end (column 0 or 1) of sequence b, and its gradient.
  const auto loss_of_end = [&](int64_t b, int column, int64_t place, std::vector<float>& scores) {
    const int64_t first = cu_seqlens.i32()[b], length = cu_seqlens.i32()[b + 1] - first;
    assert(place >= first && place < first + length);
    // scores [n]: the logits of this column for the n tokens of the sequence.
    scores.resize(static_cast<size_t>(length));
    const float* from = logits.f32() + 2 * first + column;
    for (int64_t t = 0; t < length; ++t) scores[static_cast<size_t>(t)] = from[2 * t];
    const double log_sum = log_sum_exp(loops_, scores.data(), length);
    const double loss = log_sum - static_cast<double>(scores[static_cast<size_t>(place - first)]);
    if (!dlogits) return loss;
    // dscores = softmax(scores) - [t = place]. Each end has half of the sequence's loss.
    loops_.softmax(scores.data(), static_cast<float>(log_sum), length, scores.data());
    scores[static_cast<size_t>(place - first)] -= 1.0f;
    float* to = dlogits.f32() + 2 * first + column;
    const float half = losses.weight(b) / 2;
    for (int64_t t = 0; t < length; ++t) to[2 * t] = half * scores[static_cast<size_t>(t)];
    return loss;
  };
  if (dlogits) zero(dlogits);
  parallel(sequences, 8, [&](int64_t begin, int64_t end, int) {
    std::vector<float> scores;
    for (int64_t b = begin; b < end; ++b) {
      const int32_t start = inputs.starts.i32()[b], last = inputs.ends.i32()[b];
      if (start < 0 || last < 0) continue;
      losses.set(b, (loss_of_end(b, 0, start, scores) + loss_of_end(b, 1, last, scores)) / 2);
    }
  });
  losses.add_to(state);
}

namespace {

// log(softmax(logits / temperature)).
void log_softmax(const float* logits, int64_t classes, double temperature,
                 std::vector<double>& out) {
  out.assign(logits, logits + classes);
  double most = out[0];
  for (double& x : out) {
    x /= temperature;
    most = std::max(most, x);
  }
  double sum = 0;
  for (const double x : out) sum += std::exp(x - most);
  const double log_sum = most + std::log(sum);
  for (double& x : out) x -= log_sum;
}

}  // namespace

void Kernels::distilled_cross_entropy(const LossInputs& inputs, ConstTensor teacher,
                                      const DistillationLoss& options, float smoothing,
                                      StepState& state, Tensor dlogits) {
  const ProfileScope scope(pool_.profiler(), "distilled_cross_entropy",
                           bytes_of({inputs.logits, teacher, dlogits}));
  const ConstTensor logits = inputs.logits, labels = inputs.targets;
  const int64_t rows = logits.rows(), classes = logits.columns();
  assert(teacher.elements() == logits.elements());
  const double soft = options.weight, hard = 1 - soft, temperature = options.temperature;
  const double share = static_cast<double>(smoothing) / static_cast<double>(classes);
  RowLosses losses(rows, inputs.weights);
  parallel(rows, row_grain(64 * classes), [&](int64_t begin, int64_t end, int) {
    std::vector<double> plain, student, wanted;  // logarithms of probabilities
    // With the target q, the logits x, the teacher's logits z and the temperature T:
    //   loss = hard CE(q, softmax(x)) + soft T^2 KL(softmax(z/T) | softmax(x/T))
    // T^2 keeps the size of the second gradient when T changes (Hinton et al. 2015).
    for (int64_t b = begin; b < end; ++b) {
      const int64_t label = labels.i32()[b];
      assert(label < classes);
      float* gradient = dlogits ? dlogits.f32() + b * classes : nullptr;
      if (label < 0) {
        if (gradient != nullptr) std::fill_n(gradient, classes, 0.0f);
        continue;
      }
      log_softmax(logits.f32() + b * classes, classes, 1, plain);
      log_softmax(logits.f32() + b * classes, classes, temperature, student);
      log_softmax(teacher.f32() + b * classes, classes, temperature, wanted);
      const double weight = static_cast<double>(losses.weight(b));
      double loss = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const auto at = static_cast<size_t>(c);
        const double target = share + (c == label ? 1 - static_cast<double>(smoothing) : 0);
        const double probability = std::exp(wanted[at]);
        loss -= hard * target * plain[at];
        loss += soft * temperature * temperature * probability * (wanted[at] - student[at]);
        if (gradient == nullptr) continue;
        // d/dx of the second term is T^2 (softmax(x/T) - softmax(z/T)) / T.
        gradient[c] = static_cast<float>(
            weight * (hard * (std::exp(plain[at]) - target) +
                      soft * temperature * (std::exp(student[at]) - probability)));
      }
      losses.set(b, loss);
    }
  });
  losses.add_to(state);
}

namespace {

// The softmax of a row, of which some columns were seen so far.
struct RowSoftmax {
  float max = -std::numeric_limits<float>::infinity();
  double sum_of_exp = 0;  // relative to max
  double sum = 0;         // of the logits; only where labels are smoothed
  float target = 0;       // the target's logit
  int64_t best = 0;       // the first column that has the logit `max`

  double log_sum_exp() const { return static_cast<double>(max) + std::log(sum_of_exp); }

  // Adds columns [first, first + count).
  void add(const CpuLoops& loops, const float* logits, int64_t first, int64_t count) {
    const float most = loops.maximum(logits, count);
    const double exps = loops.sum_of_exp(logits, most, count);
    if (most > max) {
      sum_of_exp = sum_of_exp * std::exp(static_cast<double>(max - most)) + exps;
      max = most;
      best = first + (std::find(logits, logits + count, most) - logits);
    } else {
      sum_of_exp += exps * std::exp(static_cast<double>(most - max));
    }
  }
};

// The softmaxes of some rows, tile by tile. Borrows what it is made from.
class VocabularyRows {
 public:
  VocabularyRows(const CpuLoops& loops, const VocabularyInputs& inputs, int64_t vocabulary,
                 float smoothing)
      : loops_(loops),
        targets_(inputs.targets.i32()),
        has_weights_(inputs.weights),
        vocabulary_(vocabulary),
        smoothing_(smoothing),
        losses_(inputs.x.rows(), inputs.weights),
        softmaxes_(static_cast<size_t>(inputs.x.rows())) {}

  // Takes the logits of a row inside a tile. Called once for each tile of the row.
  void add(const Tile& tile, int64_t row, const float* logits) {
    RowSoftmax& softmax = softmaxes_[static_cast<size_t>(row)];
    softmax.add(loops_, logits, tile.column, tile.columns);
    if (smoothing_ > 0) softmax.sum += loops_.sum(logits, tile.columns);
    const int64_t target = targets_[row] - tile.column;
    if (target >= 0 && target < tile.columns) softmax.target = logits[target];
  }

  // Ends the row, after all of its tiles were added. `prediction` is its row of
  // VocabularyOutputs::predictions.
  void finish(int64_t row, float* prediction) {
    const RowSoftmax& softmax = softmaxes_[static_cast<size_t>(row)];
    auto target = static_cast<double>(softmax.target);
    if (smoothing_ > 0) {
      const double mean = softmax.sum / static_cast<double>(vocabulary_);
      target += static_cast<double>(smoothing_) * (mean - target);
    }
    const double loss = targets_[row] >= 0 ? softmax.log_sum_exp() - target : 0;
    if (targets_[row] >= 0) losses_.set(row, loss);
    prediction[0] = static_cast<float>(loss);
    prediction[1] = static_cast<float>(softmax.best);
  }

  bool has_target(int64_t row) const { return targets_[row] >= 0; }

  // Turns the logits of a finished row inside a tile into their probabilities.
  void make_probabilities(const Tile& tile, int64_t row, float* logits) const {
    const double log_sum = softmaxes_[static_cast<size_t>(row)].log_sum_exp();
    loops_.softmax(logits, static_cast<float>(log_sum), tile.columns, logits);
  }

  // Draws from the probabilities of a finished row inside a tile.
  void sample(const Tile& tile, int64_t row, const float* probabilities,
              RowSamples& samples) const {
    samples.add(row, probabilities, tile.column, tile.columns);
    if (tile.column + tile.columns < vocabulary_) return;
    samples.finish(row, softmaxes_[static_cast<size_t>(row)].best);
  }

  // Turns the probabilities of a finished row inside a tile into the gradient of the logits.
  void make_gradient(const Tile& tile, int64_t row, float* logits) const {
    const int64_t target = targets_[row] - tile.column;
    if (target >= 0 && target < tile.columns) logits[target] -= 1.0f - smoothing_;
    if (smoothing_ == 0 && !has_weights_) return;
    const float weight = losses_.weight(row);
    const float share = smoothing_ / static_cast<float>(vocabulary_);
    for (int64_t c = 0; c < tile.columns; ++c) logits[c] = weight * (logits[c] - share);
  }

  void add_losses_to(StepState& state) const { losses_.add_to(state); }

 private:
  const CpuLoops& loops_;
  const int32_t* const targets_;
  const bool has_weights_;
  const int64_t vocabulary_;
  const float smoothing_;
  RowLosses losses_;
  std::vector<RowSoftmax> softmaxes_;
};

// The matrix [rows,columns] in the memory of a tile.
Tensor part_of(Tensor memory, const Tile& tile) {
  assert(tile.rows * tile.columns <= memory.elements());
  memory.rank = 2;
  memory.shape = {tile.rows, tile.columns, 0};
  return memory;
}

// Calls fn(tile) for the tiles of some rows, from the first column on.
template <typename Fn>
void for_columns(Tile tile, int64_t most_columns, int64_t vocabulary, const Fn& fn) {
  for (tile.column = 0; tile.column < vocabulary; tile.column += most_columns) {
    tile.columns = std::min(most_columns, vocabulary - tile.column);
    fn(tile);
  }
}

}  // namespace

// With few rows, whole rows fit. With a small vocabulary, 256 whole rows fit: then the table's
// gradient is read and written once for 256 rows, which costs less than a second pass. With a large
// vocabulary, 1,024 rows share each packed panel of the table.
TileSize Kernels::vocabulary_tile(int64_t rows, int64_t vocabulary) {
  constexpr int64_t kElements = int64_t{1} << 21, kMostRows = 1024, kLeastRows = 256;
  rows = std::clamp<int64_t>(rows, 1, kMostRows);
  if (rows * vocabulary <= kElements) return {rows, vocabulary};
  if (kLeastRows * vocabulary <= kElements) return {kElements / vocabulary, vocabulary};
  return {rows, kElements / rows / kPanelColumns * kPanelColumns};
}

void Kernels::vocabulary_logits(const VocabularyInputs& inputs, const Weight& w, const Tile& tile,
                                Tensor logits) {
  const int64_t inner = inputs.x.columns();
  std::optional<Bf16Part> packed;
  if (w.forward()) packed = w.forward()->columns_from(tile.column, tile.columns);
  multiply_by(w, packed,
              {.m = tile.rows,
               .n = tile.columns,
               .k = inner,
               .a = {inputs.x.f32() + tile.row * inner, inner},
               .b = {w.values().f32() + tile.column * inner, inner, true},
               .c = logits.f32(),
               .c_stride = tile.columns,
               .bias = inputs.bias.f32() + tile.column});
}

void Kernels::add_vocabulary_gradients(const VocabularyInputs& inputs, const Weight& w,
                                       const Tile& tile, ConstTensor dlogits,
                                       const VocabularyOutputs& outputs) {
  const int64_t inner = inputs.x.columns();
  const float* const x = inputs.x.f32() + tile.row * inner;
  // dx [rows,E] (+)= dlogits [rows,columns] w [columns,E].
  std::optional<Bf16Part> packed;
  if (w.backward()) packed = w.backward()->depths_from(tile.column, tile.columns);
  multiply_by(w, packed,
              {.m = tile.rows,
               .n = inner,
               .k = tile.columns,
               .a = {dlogits.f32(), tile.columns},
               .b = {w.values().f32() + tile.column * inner, inner},
               .c = outputs.dx.f32() + tile.row * inner,
               .c_stride = inner,
               .add = tile.column > 0});
  // dw [columns,E] += dlogits^T x [rows,E].
  if (outputs.dw) {
    multiply_by(w, std::nullopt,
                {.m = tile.columns,
                 .n = inner,
                 .k = tile.rows,
                 .a = {dlogits.f32(), tile.columns, true},
                 .b = {x, inner},
                 .c = outputs.dw.f32() + tile.column * inner,
                 .c_stride = inner,
                 .add = true});
  }
  if (outputs.dbias) add_column_sums(dlogits, outputs.dbias.slice(tile.column, tile.columns));
}

void Kernels::vocabulary_cross_entropy(const VocabularyInputs& inputs, const Weight& w,
                                       float smoothing, StepState& state,
                                       const VocabularyOutputs& outputs) {
  const ProfileScope scope(pool_.profiler(), "vocabulary_cross_entropy",
                           bytes_of({inputs.x, w.values(), outputs.dx, outputs.dw}));
  const int64_t rows = inputs.x.rows(), vocabulary = w.values().rows();
  const TileSize most{outputs.tile.rows(), std::min(outputs.tile.columns(), vocabulary)};
  assert(most.columns % kPanelColumns == 0 || most.columns == vocabulary);
  assert(inputs.targets.elements() == rows && outputs.predictions.elements() == 2 * rows);
  VocabularyRows softmaxes(loops_, inputs, vocabulary, smoothing);
  RowSamples samples(loops_, inputs.draws, outputs.samples);
  const auto for_rows = [&](const Tile& tile, const auto& fn) {
    parallel(tile.rows, row_grain(tile.columns), [&](int64_t begin, int64_t end, int) {
      float* const logits = outputs.tile.f32();
      for (int64_t r = begin; r < end; ++r) fn(tile.row + r, logits + r * tile.columns);
    });
  };
  // A block is some rows with all their columns, and a tile is a part of its columns.
  for (Tile block{}; block.row < rows; block.row += most.rows) {
    block.rows = std::min(most.rows, rows - block.row);
    // 1. logits [rows,columns] of each tile: the running maximum and sum of exponentials of each
    // row.
    for_columns(block, most.columns, vocabulary, [&](const Tile& tile) {
      vocabulary_logits(inputs, w, tile, part_of(outputs.tile, tile));
      for_rows(tile, [&](int64_t row, float* logits) { softmaxes.add(tile, row, logits); });
    });
    // 2. The loss and the most likely id of each row.
    for (int64_t row = block.row; row < block.row + block.rows; ++row) {
      softmaxes.finish(row, outputs.predictions.f32() + 2 * row);
    }
    if (!outputs.dx && !samples) continue;
    // 3. The same tiles again, computed again unless the tile is the whole block: probabilities,
    // then samples, then gradients. A row without a target has the gradient 0.
    for_columns(block, most.columns, vocabulary, [&](const Tile& tile) {
      const Tensor part = part_of(outputs.tile, tile);
      if (most.columns < vocabulary) vocabulary_logits(inputs, w, tile, part);
      for_rows(tile, [&](int64_t row, float* logits) {
        if (!softmaxes.has_target(row)) {
          std::fill_n(logits, tile.columns, 0.0f);
          return;
        }
        softmaxes.make_probabilities(tile, row, logits);
        if (samples) softmaxes.sample(tile, row, logits, samples);
        if (outputs.dx) softmaxes.make_gradient(tile, row, logits);
      });
      if (outputs.dx) add_vocabulary_gradients(inputs, w, tile, part, outputs);
    });
  }
  softmaxes.add_losses_to(state);
}

}  // namespace berth
