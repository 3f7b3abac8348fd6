#include "tests/trainer/cpu/kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "storage/base/philox.h"

namespace berth::reference {

Vector numeric_gradient(const std::function<Vector(const Vector&)>& f, const Vector& x,
                        const Vector& cotangent) {
  constexpr double kStep = 1e-5;
  Vector gradient(x.size()), moved = x;
  const auto value = [&] {
    const Vector y = f(moved);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * cotangent.at(i);
    return sum;
  };
  for (size_t i = 0; i < x.size(); ++i) {
    moved[i] = x[i] + kStep;
    const double above = value();
    moved[i] = x[i] - kStep;
    const double below = value();
    moved[i] = x[i];
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

double dropout_factor(const Dropout& dropout, const UpdateInputs& inputs, uint64_t row,
                      uint32_t stream, uint64_t element) {
  if (dropout.p == 0) return 1;
  const auto words =
      philox4x32({static_cast<uint32_t>(element / 8), stream, low_word(row), high_word(row)},
                 philox_key(inputs.seed, inputs.step, dropout.site));
  const uint32_t draw = words[element % 8 / 2] >> (16 * (element % 2)) & 0xFFFF;
  const double threshold = std::round(static_cast<double>(dropout.p) * 65536);
  return draw < threshold ? 0 : 1 / (1 - threshold / 65536);
}

Vector dropout(const Vector& x, int64_t columns, const Dropout& dropout, const UpdateInputs& inputs,
               uint64_t first_row) {
  Vector y = x;
  const auto width = static_cast<size_t>(columns);
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] *= dropout_factor(dropout, inputs, first_row + i / width, 0, i % width);
  }
  return y;
}

Vector layer_norm(const Vector& x, const Vector& gamma, const Vector& beta, double epsilon) {
  const size_t columns = gamma.size();
  Vector y(x.size());
  for (size_t row = 0; row < x.size(); row += columns) {
    double mean = 0, variance = 0;
    for (size_t c = 0; c < columns; ++c) mean += x[row + c] / static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) {
      variance += (x[row + c] - mean) * (x[row + c] - mean) / static_cast<double>(columns);
    }
    for (size_t c = 0; c < columns; ++c) {
      y[row + c] = (x[row + c] - mean) / std::sqrt(variance + epsilon) * gamma[c] + beta[c];
    }
  }
  return y;
}

Vector linear(const Vector& x, const Vector& w, const Vector& bias) {
  const size_t outputs = bias.size(), inputs = w.size() / outputs, rows = x.size() / inputs;
  Vector y(rows * outputs);
  for (size_t t = 0; t < rows; ++t) {
    for (size_t n = 0; n < outputs; ++n) {
      double sum = bias[n];
      for (size_t k = 0; k < inputs; ++k) sum += x[t * inputs + k] * w[n * inputs + k];
      y[t * outputs + n] = sum;
    }
  }
  return y;
}

void add_product(const Product& product) {
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t j = 0; j < product.n; ++j) {
      float& sum = product.c[i * product.c_stride + j];
      for (int64_t d = 0; d < product.k; ++d) {
        sum += *product.a.from(i, d).f32() * *product.b.from(d, j).f32();
      }
    }
  }
}

Vector low_rank(const Vector& x, const Vector& a, const Vector& b, int64_t rank, double scale) {
  const size_t outputs = b.size() / static_cast<size_t>(rank);
  Vector y = linear(linear(x, a, Vector(static_cast<size_t>(rank))), b, Vector(outputs));
  for (double& value : y) value *= scale;
  return y;
}

double activation(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kRelu:
      return std::max(0.0, x);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

Vector activation(Activation kind, const Vector& x) {
  Vector y;
  for (const double value : x) y.push_back(activation(kind, value));
  return y;
}

namespace {

// The score of the query of token i and the key of token j, in one head. Both tokens belong to one
// sequence.
using Score = std::function<double(int64_t i, int64_t j, int64_t head)>;

// Element d of a token's query (if `which` is 0), key (1) or value (2) in one head.
double element(const AttentionShape& shape, const Vector& qkv, int64_t token, int64_t which,
               int64_t head, int64_t d) {
  return qkv[static_cast<size_t>((token * 3 + which) * shape.hidden() + head * shape.head_size +
                                 d)];
}

Vector attention_by(const AttentionShape& shape, const Vector& qkv, const Score& score,
                    Vector* log_sum_exp) {
  const int64_t hidden = shape.hidden(), size = shape.head_size;
  Vector out(static_cast<size_t>(shape.tokens() * hidden));
  if (log_sum_exp != nullptr) log_sum_exp->assign(out.size() / static_cast<size_t>(size), 0);
  for (size_t b = 0; b + 1 < shape.cu_seqlens.size(); ++b) {
    const int64_t first = shape.cu_seqlens[b], last = shape.cu_seqlens[b + 1];
    for (int64_t head = 0; head < shape.heads; ++head) {
      for (int64_t i = first; i < last; ++i) {
        Vector scores;
        for (int64_t j = first; j < last; ++j) scores.push_back(score(i, j, head));
        const double max = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (const double value : scores) sum += std::exp(value - max);
        if (log_sum_exp != nullptr) {
          (*log_sum_exp)[static_cast<size_t>(i * shape.heads + head)] = max + std::log(sum);
        }
        for (int64_t j = first; j < last; ++j) {
          const double p =
              std::exp(scores[static_cast<size_t>(j - first)] - max) / sum *
              dropout_factor(shape.dropout, shape.inputs,
                             shape.first_token + static_cast<uint64_t>(i),
                             static_cast<uint32_t>(head), static_cast<uint64_t>(j - first));
          for (int64_t d = 0; d < size; ++d) {
            out[static_cast<size_t>(i * hidden + head * size + d)] +=
                p * element(shape, qkv, j, 2, head, d);
          }
        }
      }
    }
  }
  return out;
}

}  // namespace

Vector attention(const AttentionShape& shape, const Vector& qkv, Vector* log_sum_exp) {
  const auto score = [&](int64_t i, int64_t j, int64_t head) {
    if (shape.window >= 0 && std::abs(i - j) > shape.window) {
      return -std::numeric_limits<double>::infinity();
    }
    double sum = 0;
    for (int64_t d = 0; d < shape.head_size; ++d) {
      sum += element(shape, qkv, i, 0, head, d) * element(shape, qkv, j, 1, head, d);
    }
    return sum / std::sqrt(static_cast<double>(shape.head_size));
  };
  return attention_by(shape, qkv, score, log_sum_exp);
}

Vector biased_attention(const AttentionShape& shape, const Vector& qkv, const Vector& table,
                        const std::vector<int32_t>& rows) {
  const auto longest = static_cast<int64_t>(rows.size() / 2 + 1);
  const auto score = [&](int64_t i, int64_t j, int64_t head) {
    double sum = 0;
    for (int64_t d = 0; d < shape.head_size; ++d) {
      sum += element(shape, qkv, i, 0, head, d) * element(shape, qkv, j, 1, head, d);
    }
    const int64_t row = rows[static_cast<size_t>(i - j + longest - 1)];
    return sum / std::sqrt(static_cast<double>(shape.head_size)) +
           table[static_cast<size_t>(row * shape.heads + head)];
  };
  return attention_by(shape, qkv, score, nullptr);
}

Vector disentangled_attention(const AttentionShape& shape, const Vector& qkv,
                              const Vector& position_qk, const std::vector<int32_t>& rows,
                              Vector* log_sum_exp) {
  const auto longest = static_cast<int64_t>(rows.size() / 2 + 1);
  const auto score = [&](int64_t i, int64_t j, int64_t head) {
    const int64_t row = rows[static_cast<size_t>(i - j + longest - 1)];
    double sum = 0;
    for (int64_t d = 0; d < shape.head_size; ++d) {
      const auto at = static_cast<size_t>(row * 2 * shape.hidden() + head * shape.head_size + d);
      const double position_query = position_qk[at];
      const double position_key = position_qk[at + static_cast<size_t>(shape.hidden())];
      const double q = element(shape, qkv, i, 0, head, d), k = element(shape, qkv, j, 1, head, d);
      sum += q * k + q * position_key + k * position_query;
    }
    return sum / std::sqrt(3 * static_cast<double>(shape.head_size));
  };
  return attention_by(shape, qkv, score, log_sum_exp);
}

namespace {

Vector log_softmax(const Vector& x) {
  const double max = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += std::exp(value - max);
  Vector result;
  for (const double value : x) result.push_back(value - max - std::log(sum));
  return result;
}

}  // namespace

Vector convolution(const ConvolutionShape& shape, const Vector& x, const Vector& w,
                   const Vector& bias) {
  Vector y;
  for (size_t b = 1; b < shape.cu_seqlens.size(); ++b) {
    const int64_t first = shape.cu_seqlens[b - 1], last = shape.cu_seqlens[b];
    for (int64_t t = first; t < last; ++t) {
      for (int64_t n = 0; n < shape.outputs; ++n) {
        double sum = bias[static_cast<size_t>(n)];
        for (int64_t tap = 0; tap < shape.size; ++tap) {
          const int64_t from = t + tap - shape.size / 2;
          if (from < first || from >= last) continue;
          for (int64_t k = 0; k < shape.inputs; ++k) {
            sum += x[static_cast<size_t>(from * shape.inputs + k)] *
                   w[static_cast<size_t>((n * shape.inputs + k) * shape.size + tap)];
          }
        }
        y.push_back(sum);
      }
    }
  }
  return activation(shape.kind,
                    dropout(y, shape.outputs, shape.dropout, shape.step, shape.first_token));
}

Vector cross_entropy(const Vector& logits, const std::vector<int32_t>& labels, double smoothing) {
  const size_t classes = logits.size() / labels.size();
  Vector losses(labels.size());
  for (size_t b = 0; b < labels.size(); ++b) {
    if (labels[b] < 0) continue;
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(b * classes);
    const Vector logs = log_softmax(Vector(row, row + static_cast<std::ptrdiff_t>(classes)));
    for (size_t c = 0; c < classes; ++c) {
      const double target = (c == static_cast<size_t>(labels[b]) ? 1 - smoothing : 0) +
                            smoothing / static_cast<double>(classes);
      losses[b] -= target * logs[c];
    }
  }
  return losses;
}

Vector squared_error(const Vector& logits, const Vector& targets) {
  Vector losses;
  for (size_t b = 0; b < targets.size(); ++b) {
    losses.push_back((logits[b] - targets[b]) * (logits[b] - targets[b]));
  }
  return losses;
}

Vector binary_cross_entropy(const Vector& logits, const Vector& targets, int64_t classes) {
  Vector losses(logits.size() / static_cast<size_t>(classes));
  for (size_t i = 0; i < logits.size(); ++i) {
    const double p = 1 / (1 + std::exp(-logits[i]));
    losses[i / static_cast<size_t>(classes)] -=
        (targets[i] * std::log(p) + (1 - targets[i]) * std::log(1 - p)) /
        static_cast<double>(classes);
  }
  return losses;
}

Vector span_cross_entropy(const Vector& logits, const std::vector<int32_t>& cu_seqlens,
                          const std::vector<int32_t>& starts, const std::vector<int32_t>& ends) {
  Vector losses(starts.size());
  for (size_t b = 0; b < starts.size(); ++b) {
    if (starts[b] < 0 || ends[b] < 0) continue;
    for (int column = 0; column < 2; ++column) {
      Vector scores;
      for (int32_t t = cu_seqlens[b]; t < cu_seqlens[b + 1]; ++t) {
        scores.push_back(logits[static_cast<size_t>(2 * t + column)]);
      }
      const int32_t place = (column == 0 ? starts : ends)[b] - cu_seqlens[b];
      losses[b] -= log_softmax(scores)[static_cast<size_t>(place)] / 2;
    }
  }
  return losses;
}

}  // namespace berth::reference
