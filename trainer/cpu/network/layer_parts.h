#pragma once

#include <optional>
#include <string>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/network/context.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/lora.h"

namespace berth {

// One dense layer: y = x w^T + bias. Copies share the parameters.
struct Linear {
  // The parameters `name`.weight and, if there is one, `name`.bias. `count` > 1 joins that many
  // neighbours (query, key, value) into one layer. A weight of three dimensions is taken as a
  // matrix of as many rows.
  Linear(Parameters& parameters, const std::string& name, int count = 1);

  // Whether backward reads the x that forward was given.
  bool reads_input() const { return weight.trains(); }

  // As Kernels::linear_forward and linear_activation_forward.
  void forward(Kernels& kernels, ConstTensor x, Tensor y) const {
    kernels.linear_forward(x, weight.weight(), biases(), y);
  }
  void activation_forward(Kernels& kernels, ConstTensor x, Activation activation, Tensor pre,
                          Tensor y) const {
    kernels.linear_activation_forward(x, weight.weight(), biases(), activation, pre, y);
  }
  // As Kernels::linear_backward. The gradients of the parameters go where their handles hold them.
  void backward(Kernels& kernels, ConstTensor dy, ConstTensor x, Tensor dx, Into into,
                const Preactivation& pre = {}) const;
  // The same for y = activation(x w^T + bias). Turns dy into the gradient of the preactivation.
  void activation_backward(Kernels& kernels, Tensor dy, const Preactivation& pre, ConstTensor x,
                           Tensor dx, Into into) const;

  Parameter& weight;
  Parameter* bias;  // null: there is none

 private:
  Tensor biases() const { return bias != nullptr ? bias->value() : Tensor(); }
  LinearGradients gradients() const;
};

// The type of what layers hand to products: product_dtype(), in which activations take half the
// memory. Adapters need fp32, and so do the products of models that are too narrow for bf16.
DType operand_dtype(const ModelConfig& config, const LoraOptions& lora, const Kernels& kernels);

// The adapter that LoRA adds to one dense layer (Hu et al. 2021, arXiv:2106.09685). It adds alpha /
// rank * dropout(x) A^T B^T to columns [column, column + N) of y. Copies share the parameters, but
// not the activations.
class LowRankAdapter {
 public:
  // `target` is the name of the dense layer. Its outputs begin at `column` where one product
  // computes several layers.
  LowRankAdapter(const LoraOptions& lora, const std::string& target, int64_t column,
                 Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, int64_t rows);
  // `dropout` says which place drops; the probability is the adapter's own.
  void forward(const StepContext& step, Dropout dropout, Tensor x, Tensor y);
  // x is the argument of forward; dy has the shape of y. Adds to dx.
  void backward(const StepContext& step, Dropout dropout, Tensor x, Tensor dy, Tensor dx);

 private:
  LowRankFactors values() const;
  Dropout placed(const StepContext& step, Dropout dropout) const;

  LoraOptions lora_;
  int64_t column_;
  Kernels& kernels_;
  Parameter& a_;
  Parameter& b_;
  Tensor down_, ddown_;  // [rows,R]
  Tensor dropped_;       // [rows,K], where there is dropout
};

// The adapter of a part of an encoder layer; nullopt where LoRA does not adapt it. One product
// computes query, key and value, so their columns follow each other. The columns of a gated layer's
// two matrices follow each other, too.
std::optional<LowRankAdapter> make_adapter(const ModelConfig& config, const LoraOptions& lora,
                                           int64_t layer, LayerPart part, Parameters& parameters,
                                           Kernels& kernels);

// One layer normalization of the network: its parameters, and the statistics of the rows that the
// last forward pass normalized. Copies share the parameters, and each copy needs an allocate() of
// its own.
class LayerNorm {
 public:
  // The parameters `name`.weight and, if there is one, `name`.bias.
  LayerNorm(Parameters& parameters, const std::string& name, double epsilon);

  void allocate(Arena& arena, int64_t most_rows);

  LayerNormParameters parameters() const {
    return {.gamma = gamma_.value(),
            .beta = beta_ != nullptr ? beta_->value() : Tensor(),
            .epsilon = epsilon_};
  }
  LayerNormGradients gradients() const {
    return {.dgamma = gamma_.gradient(), .dbeta = beta_ != nullptr ? beta_->gradient() : Tensor()};
  }
  NormStatistics statistics(int64_t rows) const {
    return {.mean = statistics_.mean.first(rows), .rstd = statistics_.rstd.first(rows)};
  }
  // x [R,H], which the last forward pass normalized, with its statistics.
  NormalizedRows normalized(ConstTensor x) const {
    return {
        .x = x, .mean = statistics_.mean.first(x.rows()), .rstd = statistics_.rstd.first(x.rows())};
  }
  // What normalizing x gave, as a residual.
  Residual residual(ConstTensor x) const { return {normalized(x), parameters()}; }

 private:
  Parameter& gamma_;
  Parameter* beta_;  // null: there is none
  float epsilon_;
  NormStatistics statistics_;
};

// The end of both halves of an encoder layer, of R rows:
//   sum = residual + dropout(output); y = layer_norm(sum)
// Post-normalized layers (Vaswani et al. 2017, arXiv:1706.03762) take the input of the half as its
// residual. Pre-normalized ones (Xiong et al. 2020, arXiv:2002.04745) take the sum of the half
// before, and normalize for the half that follows.
struct ResidualSum {
  Kernels& kernels;
  const StepContext& step;
  const LayerNorm& norm;
  const Dropout& dropout;
  bool normalizes_first;

  // Replaces `sum`, which holds the output, with the sum.
  void forward(Tensor sum, const Residual& residual, Tensor y) const;
  // dy is the gradient of y, and doutput becomes the gradient of the output. Post-normalized: dy
  // becomes the gradient of the residual, and the caller adds the gradient of the half's input to
  // it. Pre-normalized: the gradient is added to dresidual, and the caller may overwrite dy with
  // the gradient of the half's input. Returns which of the two the caller must do.
  Into backward(Tensor dy, Tensor sum, Tensor dresidual, Tensor doutput) const;
};

}  // namespace berth
