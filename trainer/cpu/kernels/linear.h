#pragma once

#include <cstddef>
#include <optional>

#include "trainer/cpu/kernels/bf16/bf16_products.h"
#include "trainer/cpu/kernels/int8/int8_products.h"
#include "trainer/cpu/kernels/tensor.h"

namespace berth {

// Products with fewer outputs than this, such as a classifier's, stay in fp32, because they cost
// little and the job reports their results.
inline constexpr int64_t kLeastOutputs = kPanelColumns / 2;

// A matrix [N,K] as the right factor of products: the fp32 values, and packed copies of them for
// products in bf16 or int8. Kernels::make_weight() makes it. Borrows the values.
class Weight {
 public:
  // Products are in fp32 where both pointers are null. Where `int8` is given, dense layers multiply
  // in int8, which has no backward pass. Null values are not packed.
  Weight(ConstTensor values, WeightUse use, Bf16Products* bf16, Int8Products* int8);

  ConstTensor values() const { return values_; }
  // Packs the copies again. To be called after the values have changed.
  void refresh();
  // The bytes of the packed copies, also where they were not made because the values are null.
  size_t packed_bytes() const;

  bool multiplies_in_bf16() const { return products_ != nullptr; }
  // w^T and w as packed right factors; empty where products pack what they need.
  const std::optional<Bf16Matrix>& forward() const { return forward_; }
  const std::optional<Bf16Matrix>& backward() const { return backward_; }
  // w^T in int8; null where dense layers multiply in another type.
  const Int8Matrix* in_int8() const { return in_int8_ ? &*in_int8_ : nullptr; }

 private:
  ConstTensor values_;
  WeightUse use_;
  Bf16Products* products_;  // null: products are in fp32
  Int8Products* int8_;
  std::optional<Bf16Matrix> forward_, backward_;
  std::optional<Int8Matrix> in_int8_;
};

}  // namespace berth
