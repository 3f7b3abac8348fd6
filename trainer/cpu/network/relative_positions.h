#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/model/config.h"

namespace berth {

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

}  // namespace berth
