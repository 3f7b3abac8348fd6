#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "trainer/cpu/kernels/step_state.h"
#include "trainer/cpu/kernels/tensor.h"

namespace berth {

// The losses of rows. Threads compute them, each for rows of its own, and one thread adds them up
// in the order of the rows. Borrows the weights.
class RowLosses {
 public:
  // Null weights are 1.
  RowLosses(int64_t rows, ConstTensor weights)
      : weights_(weights ? weights.f32() : nullptr), losses_(static_cast<size_t>(rows)) {
    assert(!weights || weights.elements() == rows);
  }

  float weight(int64_t row) const { return weights_ != nullptr ? weights_[row] : 1.0f; }
  void set(int64_t row, double loss) { losses_[static_cast<size_t>(row)] = {loss, true}; }

  // Adds weight * loss, and the weight, of every row whose loss was set.
  void add_to(StepState& state) const {
    for (size_t row = 0; row < losses_.size(); ++row) {
      if (!losses_[row].counts) continue;
      const auto weight = static_cast<double>(this->weight(static_cast<int64_t>(row)));
      state.loss_sum += weight * losses_[row].loss;
      state.examples += weight;
    }
  }

 private:
  struct RowLoss {
    double loss = 0;
    bool counts = false;
  };
  const float* weights_;
  std::vector<RowLoss> losses_;
};

}  // namespace berth
