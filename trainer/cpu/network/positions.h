#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_parts.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/config.h"

namespace berth {

// MPNet's bias of scores by distance (Song et al. 2020, arXiv:2004.09297), which all layers share.
// Not thread-safe.
class PositionBias {
 public:
  PositionBias(const ModelConfig& config, Parameters& parameters);

  void allocate(Arena& arena);
  void prepare();  // before the layers of a forward pass
  PositionBiasInputs inputs() const { return {.table = table_.value(), .rows = rows_}; }
  // AttentionGradients::dbias: where the backward passes of all layers add. Null if it is frozen.
  Tensor gradient() const { return table_.gradient(); }

 private:
  Parameter& table_;  // [P,A]
  std::vector<int32_t> host_rows_;
  Tensor rows_;  // of the distances in the longest sequence that the model takes
};

// The embeddings of relative positions (He et al. 2020, arXiv:2006.03654). All layers share them,
// and the config says whether they are normalized. A batch uses P of the rows: one for each
// distance inside its longest sequence.
class RelativePositions {
 public:
  RelativePositions(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena);
  void forward(const StepContext& step);
  // To be called before and after the backward passes of the layers, which add_gradient().
  void begin_backward();
  void finish_backward();

  // The rows of the last forward [P,H] with dropout. Each place that uses them has a `site` of its
  // own. The result is valid until the next call.
  Tensor dropped(const StepContext& step, uint32_t site);
  // Adds the gradient d [P,H] of what dropped() returned for the site. Overwrites d.
  void add_gradient(const StepContext& step, uint32_t site, Tensor d);

  // The same dropout, with the rows of the last forward counted from the first row of the table.
  Dropout counted(Dropout dropout) const;

  // Scratch for the backward pass of one place at a time: [P,2H].
  Tensor dqk() const { return dqk_.first(num_rows_); }
  Tensor dpositions() const { return dpositions_.first(num_rows_); }  // [P,H]

  int64_t num_rows() const { return num_rows_; }    // P
  int64_t most_rows() const;                        // the largest P
  Tensor row_of_distance() const { return rows_; }  // RelativePositionInputs::rows

 private:
  Dropout dropout(const StepContext& step, uint32_t site) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Parameter& table_;  // [2 * span,H]
  std::optional<LayerNorm> norm_;
  Tensor normalized_, dnormalized_, dropped_, dpositions_;  // [P,H]
  Tensor dqk_;                                              // [P,2H]
  Tensor all_rows_, rows_;
  std::vector<int32_t> host_rows_;
  int64_t first_row_ = 0, num_rows_ = 0;
};

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

// What the layers of an encoder share of positions. Null: the architecture has none of the kind.
struct SharedPositions {
  RelativePositions* relative = nullptr;  // attention is disentangled
  RotaryPositions* rotary = nullptr;      // queries and keys are turned
  PositionBias* bias = nullptr;           // it is added to the scores
};

}  // namespace berth
