#pragma once

#include <memory>
#include <string>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"

namespace berth {

// What a weight is for, in a model that learns or not: where its gradient is kept as factors,
// tokens are few.
WeightUse weight_use(bool learns, GradientForm form);
WeightUse weight_use(const Parameters& parameters, const ProductGradient* product = nullptr);

// One dense layer: views into Parameters, and the matrix as products want it, which copies share.
struct Linear {
  // `name`.weight and `name`.bias; `count` > 1 joins that many neighbours (query, key, value).
  // A weight of three dimensions is taken as a matrix of as many rows.
  Linear(Parameters& parameters, Kernels& kernels, const std::string& name, int count = 1);

  // Whether the weight wants a gradient, and so the x that it met.
  bool learns() const { return dweight || product != nullptr; }
  // As Kernels::linear_backward and linear_activation_backward, the parameters' gradients as they
  // are held.
  void backward(Kernels& kernels, Tensor dy, Tensor x, Tensor dx, Into into) const;
  void activation_backward(Kernels& kernels, Tensor dy, Tensor pre, Activation activation, Tensor x,
                           Tensor dx, Into into) const;
  void refresh(Kernels& kernels) const { kernels.refresh(*weight); }  // the parameters changed

  ProductGradient* product;  // null: the weight's gradient is summed, in dweight
  std::shared_ptr<Weight> weight;
  Tensor bias, dweight, dbias;

 private:
  LinearGradients gradients() const;
  void keep(Kernels& kernels, Tensor dy, Tensor x) const;  // factors, and of how many tokens it is
};

}  // namespace berth
