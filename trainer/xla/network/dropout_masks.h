#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "trainer/xla/stablehlo/operations.h"

namespace berth {

// Dropout (Srivastava et al. 2014) by counters: Philox 4x32-10 (Salmon et al. 2011) with a key of
// (seed, step, site) decides from the number of a row and the place in it, as storage/base/philox.h
// and the CPU's kernels do. The same numbers are dropped, to the bit.
class DropoutMasks {
 public:
  // `step_words` is u32 [4]: low and high word of the seed, then of the step. `layers` is the
  // number of the model's layers, which have sites (trainer/model/dropout_sites.h).
  DropoutMasks(stablehlo::Value step_words, int64_t layers);

  // x [N,K], with each element dropped with probability p or else scaled by 1/(1-p). `rows`, u32
  // [N], are the numbers of its rows.
  stablehlo::Value drop(stablehlo::Value x, double p, uint32_t site, stablehlo::Value rows);
  // The same for probabilities [R,A,S,S] of attention: of query tokens with the numbers `rows`, u32
  // [R,S], for each key of the query's own sequence, which begins at column 8 * first_block, u32
  // [R,S]. Other keys get anything.
  stablehlo::Value drop_probabilities(stablehlo::Value x, double p, uint32_t site,
                                      stablehlo::Value rows, stablehlo::Value first_block);

 private:
  using Key = std::array<stablehlo::Value, 2>;  // u32, scalars

  Key key_of(uint32_t site);

  stablehlo::Value step_words_;
  int64_t sites_;                          // of a range
  std::map<uint32_t, Key> keys_of_range_;  // u32 [sites_], by the first site
};

}  // namespace berth
