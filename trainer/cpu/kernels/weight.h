#pragma once

#include <cstddef>
#include <optional>

#include "trainer/cpu/kernels/bf16/bf16_products.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/cpu/kernels/weight_use.h"

namespace berth {

// A matrix [N,K] as the right factor of products: the fp32 values, and packed copies of them for
// products in bf16. Kernels::make_weight() makes it. Borrows the values.
class Weight {
 public:
  // Products are in fp32 where `products` is null. Null values are not packed.
  Weight(ConstTensor values, WeightUse use, Bf16Products* products);

  ConstTensor values() const { return values_; }
  // Packs the copies again. To be called after the values have changed.
  void refresh();
  // The bytes of the packed copies, also where they were not made because the values are null.
  size_t packed_bytes() const;

  bool multiplies_in_bf16() const { return products_ != nullptr; }
  // w^T and w as packed right factors; empty where products pack what they need.
  const std::optional<Bf16Matrix>& forward() const { return forward_; }
  const std::optional<Bf16Matrix>& backward() const { return backward_; }

 private:
  ConstTensor values_;
  WeightUse use_;
  Bf16Products* products_;  // null: products are in fp32
  std::optional<Bf16Matrix> forward_, backward_;
};

}  // namespace berth
