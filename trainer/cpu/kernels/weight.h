#pragma once

#include <optional>

#include "trainer/cpu/kernels/bf16/bf16_products.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/cpu/kernels/weight_use.h"

namespace berth {

// A matrix [N,K] as products take it: the fp32 values, and packed copies of them for products in
// bf16. Kernels::make_weight() makes it, and refresh() packs the copies again after the values have
// changed. The values must outlive it.
struct Weight {
  // Products are in fp32 where `products` is null.
  Weight(Tensor w, WeightUse use, const Bf16Products* products);
  Tensor master() const { return values; }

  Tensor values;
  bool in_bf16;                                 // whether its products are in bf16
  std::optional<Bf16Matrix> forward, backward;  // w^T and w as right factors
};

}  // namespace berth
