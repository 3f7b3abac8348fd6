#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/row_losses.h"

namespace berth {
namespace {

constexpr double kScale = 20;  // of the cosines whose softmax finds a text's partner

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

}  // namespace

void Kernels::cosine_squared_error(const GroupInputs& inputs, StepState& state, Tensor outputs,
                                   Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "cosine_squared_error",
                           bytes_of({inputs.embeddings, dembeddings}));
  constexpr double kLeastLength = 1e-8;  // as in torch.cosine_similarity
  const ConstTensor x = inputs.embeddings;
  const int64_t examples = inputs.examples(), hidden = x.columns();
  assert(inputs.group == 2 && outputs.elements() == examples);
  const std::vector<double> lengths = lengths_of(x, kLeastLength);
  RowLosses losses(examples, inputs.weights);
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
      const double dcosine = 2 * error * static_cast<double>(losses.weight(b));
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

void Kernels::in_batch_negatives(const GroupInputs& inputs, StepState& state, Tensor scores,
                                 Tensor outputs, Tensor dembeddings) {
  const ProfileScope scope(pool_.profiler(), "in_batch_negatives",
                           bytes_of({inputs.embeddings, dembeddings}));
  constexpr double kLeastLength = 1e-12;  // as in torch.nn.functional.normalize
  const ConstTensor x = inputs.embeddings;
  const int64_t examples = inputs.examples(), hidden = x.columns(), group = inputs.group;
  const int64_t others = (group - 1) * examples;
  assert(group >= 2 && scores.rows() == examples && scores.columns() == others);
  const std::vector<double> lengths = lengths_of(x, kLeastLength);
  // The row of x that holds an example's first text, or the text of a column of the scores.
  const auto anchor = [&](int64_t example) { return group * example; };
  const auto candidate = [&](int64_t column) {
    return group * (column % examples) + 1 + column / examples;
  };
  const auto length = [&](int64_t row) { return lengths[static_cast<size_t>(row)]; };
  RowLosses losses(examples, inputs.weights);
  parallel(examples, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      float* row = scores.f32() + b * others;
      for (int64_t c = 0; c < others; ++c) {
        const double product =
            dot_product(x.f32() + anchor(b) * hidden, x.f32() + candidate(c) * hidden, hidden);
        row[c] = static_cast<float>(product / (length(anchor(b)) * length(candidate(c))));
      }
      const float own = row[b], largest = *std::max_element(row, row + others);
      outputs.f32()[2 * b] = own;
      outputs.f32()[2 * b + 1] = own == largest ? 1.0f : 0.0f;
      if (!inputs.has_loss) continue;
      double sum = 0;
      for (int64_t c = 0; c < others; ++c) {
        sum += std::exp(kScale * (double{row[c]} - double{largest}));
      }
      const double log_sum = kScale * double{largest} + std::log(sum);
      losses.set(b, log_sum - kScale * double{own});
      if (!dembeddings) continue;
      const double factor = kScale * static_cast<double>(losses.weight(b));
      for (int64_t c = 0; c < others; ++c) {
        const double share = std::exp(kScale * double{row[c]} - log_sum);
        row[c] = static_cast<float>(factor * (share - (c == b ? 1 : 0)));
      }
    }
  });
  losses.add_to(state);
  if (!dembeddings) return;
  // The scores are now the gradients of the cosines. Each row of x gets a sum of unit vectors, less
  // the part of it that lies along the row itself.
  parallel(x.rows(), 1, [&](int64_t begin, int64_t end, int) {
    std::vector<double> sum(static_cast<size_t>(hidden));
    for (int64_t r = begin; r < end; ++r) {
      std::fill(sum.begin(), sum.end(), 0.0);
      const auto add = [&](int64_t other, float gradient) {
        const double factor = double{gradient} / length(other);
        const float* from = x.f32() + other * hidden;
        for (int64_t h = 0; h < hidden; ++h) {
          sum[static_cast<size_t>(h)] += factor * double{from[h]};
        }
      };
      const int64_t example = r / group, text = r % group;
      if (text == 0) {
        for (int64_t c = 0; c < others; ++c) {
          add(candidate(c), scores.f32()[example * others + c]);
        }
      } else {
        const int64_t column = (text - 1) * examples + example;
        for (int64_t b = 0; b < examples; ++b) {
          add(anchor(b), scores.f32()[b * others + column]);
        }
      }
      const float* own = x.f32() + r * hidden;
      double along = 0;
      for (int64_t h = 0; h < hidden; ++h) along += sum[static_cast<size_t>(h)] * double{own[h]};
      along /= length(r) * length(r);
      for (int64_t h = 0; h < hidden; ++h) {
        const double across = sum[static_cast<size_t>(h)] - along * double{own[h]};
        dembeddings.f32()[r * hidden + h] = static_cast<float>(across / length(r));
      }
    }
  });
}

}  // namespace berth
