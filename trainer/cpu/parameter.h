#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/cpu/gradient_form.h"
#include "trainer/cpu/kernels/kernels.h"

namespace berth {

// What a layer holds of one parameter: its values, its packed copies, and the place of its
// gradient. A handle may also stand for neighbours of the parameter table that one product computes
// together, as query, key and value: their rows then lie end to end. Parameters makes the handles,
// owns the memory behind them, and must outlive them.
//
// Handles may overlap where gradients are summed: DeBERTa's query and key are one handle for the
// products of positions, besides being a part of the handle for the products of tokens. Each handle
// has packed copies of its own, of the same values.
class Parameter {
 public:
  // The fp32 values, [rows, ...] in the table's shape.
  Tensor value() const { return value_; }

  // The values as the right factor of products, with their packed copies. Only of a handle that
  // Parameters::factor() returned.
  const Weight& weight() const { return *weight_; }

  GradientForm form() const { return form_; }
  bool trains() const { return form_ != GradientForm::kNone; }

  // The tensor that backward writes, in the shape of value(): it adds to a kSummed one, and
  // overwrites a kWhole one. Null where the gradient has another form. A kWhole one is also null
  // until a model has placed it (Parameters::keep_products).
  Tensor gradient() const { return gradient_; }

  // The RowMarks of a table that is looked up, int32 [rows]; null for other parameters and without
  // gradients. Whoever writes to gradients or moments keeps them true.
  Tensor marks() const { return marks_; }

  // Whether the gradient is one product that is kept until the update: kWhole or kFactored.
  bool keeps_product() const {
    return form_ == GradientForm::kWhole || form_ == GradientForm::kFactored;
  }
  // Called by backward: the gradient of this update is dy^T x. If the form is kWhole, backward has
  // already written it. If the form is kFactored, copies the factors. Does nothing for other forms.
  // Throws kInternal if the update already has a product.
  void take_product(Kernels& kernels, ConstTensor dy, ConstTensor x);
  // The number of tokens of the update's product. nullopt if backward has not made it. It is 0 if
  // no token was selected or masked.
  std::optional<int64_t> product_tokens() const { return tokens_; }
  // The factors of a kFactored gradient that the update has.
  FactoredGradient factors() const;
  // The update has used the product.
  void drop_product() { tokens_.reset(); }

  // The first of its parameters in the table, and the number of them.
  size_t index() const { return index_; }
  int count() const { return count_; }

 private:
  friend class Parameters;

  size_t index_ = 0;
  int count_ = 1;
  Tensor value_{}, gradient_{}, marks_{};
  GradientForm form_ = GradientForm::kNone;
  Tensor kept_dy_{}, kept_x_{};  // the factors of a kFactored one, for the most tokens of an update
  std::optional<int64_t> tokens_{};
  std::unique_ptr<Weight> weight_{};
};

}  // namespace berth
