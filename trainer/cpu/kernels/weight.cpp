#include "trainer/cpu/kernels/weight.h"

namespace berth {
namespace {

// Products with fewer outputs than this, such as a classifier's, stay in fp32, because they cost
// little and the job reports their results.
constexpr int64_t kLeastOutputs = kPanelColumns / 2;

}  // namespace

Weight::Weight(ConstTensor values, WeightUse use, Bf16Products* bf16, Int8Products* int8)
    : values_(values),
      use_(use),
      products_(values.rows() >= kLeastOutputs ? bf16 : nullptr),
      int8_(values.rows() >= kLeastOutputs ? int8 : nullptr) {
  if (!values) return;
  if (int8_ != nullptr) in_int8_ = int8_->pack(values_);
  if (int8_ != nullptr || products_ == nullptr) return;
  const auto [packs_forward, packs_backward] = products_->packs(use);
  if (packs_forward) forward_ = products_->make_matrix(values.columns(), values.rows());
  if (packs_backward) backward_ = products_->make_matrix(values.rows(), values.columns());
  refresh();
}

void Weight::refresh() {
  if (int8_ != nullptr) in_int8_ = int8_->pack(values_);
  if (!forward_) return;
  products_->pack({values_.f32(), values_.columns(), true}, *forward_,
                  backward_ ? &*backward_ : nullptr);
}

size_t Weight::packed_bytes() const {
  if (int8_ != nullptr) return int8_->matrix_bytes(values_.columns(), values_.rows());
  if (products_ == nullptr) return 0;
  const auto [packs_forward, packs_backward] = products_->packs(use_);
  return (packs_forward ? products_->matrix_bytes(values_.columns(), values_.rows()) : 0) +
         (packs_backward ? products_->matrix_bytes(values_.rows(), values_.columns()) : 0);
}

}  // namespace berth
