#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_norm.h"
#include "trainer/model/config.h"

namespace berth {

// The row of the table that a distance (query minus key) means, from 0 to 2 * relative_span() - 1.
// Near ones have rows of their own, far ones share them, the more the farther (He et al. 2021,
// arXiv:2111.09543, and its published code). Does not decrease.
int32_t relative_row(const ModelConfig& config, int64_t distance);

// The embeddings of relative positions, which all layers share, normalized where the config says
// so (He et al. 2020, arXiv:2006.03654). P rows are in reach of a batch: those that distances
// inside its longest sequence mean.
class RelativePositions {
 public:
  RelativePositions(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena);
  void forward(const StepContext& step);
  // Around the layers' backward passes, which add to gradient().
  void begin_backward();
  void finish_backward();

  // Of the last forward, with dropout of their own for each place that uses them: [P,H], valid
  // until the next call.
  Tensor dropped(const StepContext& step, uint32_t site);
  // Adds what a place's [P,H] gradient comes to; uses d up.
  void add_gradient(const StepContext& step, uint32_t site, Tensor d);

  // `dropout` with the rows of the last forward counting from the table's first.
  Dropout counted(Dropout dropout) const;

  // Scratch for the backward passes of places, one at a time: [P,2H].
  Tensor dqk() const { return dqk_.first(num_rows_); }
  Tensor dpositions() const { return dpositions_.first(num_rows_); }  // [P,H]

  int64_t num_rows() const { return num_rows_; }    // P
  int64_t most_rows() const;                        // that P may be
  Tensor row_of_distance() const { return rows_; }  // RelativePositionInputs::rows

 private:
  Dropout dropout(const StepContext& step, uint32_t site) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Tensor table_, dtable_;  // [2 * span,H]
  std::optional<LayerNorm> norm_;
  Tensor normalized_, dnormalized_, dropped_, dpositions_;  // [P,H]
  Tensor dqk_;                                              // [P,2H]
  Tensor all_rows_, rows_;
  std::vector<int32_t> host_rows_;
  int64_t first_row_ = 0, num_rows_ = 0;
};

}  // namespace berth
