#pragma once

#include <optional>
#include <string>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/lora.h"

namespace berth {

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

}  // namespace berth
