#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/model/config.h"

namespace berth {

// The rotary positions of all layers (Su et al. 2021, arXiv:2104.09864): tables of cosines and
// sines, one for each base, which grow with the longest sequence so far. Angles are computed as
// transformers does, in fp32. Borrows what it is made from. Not thread-safe.
class RotaryPositions {
 public:
  RotaryPositions(const ModelConfig& config, Kernels& kernels)
      : config_(config), kernels_(kernels) {}

  // The bytes of the tables for sequences of at most `longest` tokens.
  static size_t table_bytes(const ModelConfig& config, int64_t longest);

  // To be called before the layers of each forward pass.
  void prepare(const StepContext& step);
  // Turns the queries and keys in qkv [T,3H], as Kernels::rotate, or turns their gradients back.
  void rotate(const StepContext& step, int64_t layer, Tensor qkv);
  void rotate_backward(const StepContext& step, int64_t layer, Tensor dqkv);

 private:
  struct Table {
    std::vector<float> cosines, sines;  // [P,D/2]
  };

  RotaryAngles angles(int64_t layer);

  const ModelConfig& config_;
  Kernels& kernels_;
  std::map<double, Table> tables_;  // by base
  int64_t positions_ = 0;           // P
};

}  // namespace berth
