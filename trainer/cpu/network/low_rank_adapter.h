#pragma once

#include <optional>
#include <string>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/lora.h"

namespace berth {

// What LoRA adds to one dense layer: columns [column, column + N) of y += alpha / rank * dropout(x)
// A^T B^T. Copies share the parameters, not the activations.
class LowRankAdapter {
 public:
  // Of the layer `target`, whose outputs stand at `column` of what it computes together with
  // others.
  LowRankAdapter(const LoraOptions& lora, const std::string& target, int64_t column,
                 Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, int64_t rows);
  // `dropout` as a place of its own drops: its p is the adapter's.
  void forward(const StepContext& step, Dropout dropout, Tensor x, Tensor y);
  // x, y as in forward; adds to dx.
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
  Tensor dropped_;       // [rows,K], where it drops
};

// That of a part of an encoder layer, where LoRA adapts it. Query, key and value are computed
// together, so that their columns follow each other.
std::optional<LowRankAdapter> make_adapter(const ModelConfig& config, const LoraOptions& lora,
                                           int64_t layer, LayerPart part, Parameters& parameters,
                                           Kernels& kernels);

}  // namespace berth
