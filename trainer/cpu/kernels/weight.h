#pragma once

#include <optional>

#include "trainer/cpu/kernels/bf16/bf16_products.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/cpu/kernels/weight_use.h"

namespace berth {

// A matrix [N,K] as products take it: the fp32 master, and, for products in bf16, copies of it that
// are packed. Made by Kernels::make_weight(); refresh() packs anew after the master has changed.
struct Weight {
  Weight(Tensor w, WeightUse use, const Bf16Products* products);  // products null: in fp32
  Tensor master() const { return values; }

  Tensor values;
  bool in_bf16;                                 // whether its products are
  std::optional<Bf16Matrix> forward, backward;  // w^T and w as right factors
};

}  // namespace berth
