#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/batcher.h"

namespace berth {

// Of a sum over examples that count so much together; 0 where nothing counts.
inline double mean_loss(double sum, double weight) { return weight == 0 ? 0 : sum / weight; }

// The best evaluation of a job.
struct Best {
  int64_t step = 0;
  std::string metric{};  // its name
  double value = 0;
};

// Where a training run stands between two updates; with the parameters and the moments, all there
// is.
struct TrainingState {
  int64_t step = 0;  // updates done
  DataCursor cursor{};
  int64_t examples = 0, tokens = 0;    // seen so far, by all processes
  double loss_sum = 0;                 // over those examples
  double loss_weight = 0;              // what they count in it, together
  int64_t evaluated_step = -1;         // the last step that was evaluated
  std::vector<SkippedData> skipped{};  // what made the loss no number, in the order of the data
  std::optional<Best> best{};          // of those whose checkpoint is there, or this one's
  std::string kernels{};               // what computed it: results repeat bit for bit on the same
  std::string job{};                   // job_identity() of whom it belongs to; empty: not known
};

}  // namespace berth
