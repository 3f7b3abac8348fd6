#include "trainer/cpu/network/transform.h"

namespace berth {

Transform::Transform(const ModelConfig& config, const std::string& dense, const std::string& norm,
                     Activation activation, Parameters& parameters, Kernels& kernels)
    : config_(config),
      activation_(activation),
      kernels_(kernels),
      dense_(parameters, dense),
      norm_(parameters, norm, config.layer_norm_eps) {}

void Transform::allocate(Arena& arena, int64_t most_rows) {
  for (Tensor* tensor : {&pre_, &activated_}) {
    *tensor = arena.make(DType::kF32, {most_rows, config_.hidden_size});
  }
  norm_.allocate(arena, most_rows);
}

void Transform::forward(Tensor x, Tensor y) {
  const int64_t rows = x.rows();
  const Tensor activated = activated_.first(rows);
  x_ = x;
  dense_.activation_forward(kernels_, x, activation_, pre_.first(rows), activated);
  kernels_.layer_norm_forward(activated, norm_.parameters(), y, norm_.statistics(rows));
}

void Transform::backward(Tensor dy, Tensor dx) {
  const int64_t rows = dy.rows();
  kernels_.layer_norm_backward(dy, norm_.normalized(activated_.first(rows)), norm_.parameters(), dy,
                               norm_.gradients());
  dense_.activation_backward(kernels_, dy, {pre_.first(rows), activation_}, x_, dx,
                             Into::kOverwrite);
}

}  // namespace berth
