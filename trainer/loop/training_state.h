#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/data/batcher.h"

namespace berth {

// The result of one probe: the scores of a model that was fine-tuned from the encoder after `step`
// updates. All numbers are finite.
struct ProbeReport {
  int64_t step = 0;
  std::string name{};    // of the probe
  std::string metric{};  // the main one of `metrics`
  std::map<std::string, double> metrics{};
  double loss = 0;
  int64_t examples = 0;  // that were scored
  double seconds = 0;    // that the training waited
};

// The mean of a sum over examples whose weights add up to `weight`. 0 if the weight is 0.
inline double mean_loss(double sum, double weight) { return weight == 0 ? 0 : sum / weight; }

// The best evaluation of a job.
struct Best {
  int64_t step = 0;
  std::string metric{};  // its name
  double value = 0;
  // The last evaluation that was better by more than TrainingOptions::early_stopping_threshold.
  // Early stopping counts the evaluations since then.
  int64_t improved_step = 0;
};

// The state of a training run between two updates. Together with the parameters and the moments, it
// is the whole state.
struct TrainingState {
  int64_t step = 0;  // updates done
  DataCursor cursor{};
  int64_t examples = 0, tokens = 0;    // seen so far, by all processes
  double loss_sum = 0;                 // over those examples
  double loss_weight = 0;              // the sum of their weights
  int64_t evaluated_step = -1;         // the last step that was evaluated
  int64_t probed_step = -1;            // the last step that was probed
  std::vector<ProbeReport> probes{};   // the results of all probes, in their order
  std::vector<SkippedData> skipped{};  // data that made the loss NaN or infinite, in their order
  std::optional<Best> best{};          // the best evaluation whose checkpoint exists or is this one
  // Whether the checkpoint was saved only because of the time. The next checkpoint replaces it.
  bool is_interim = false;
  // The step of the interim checkpoint that this one replaces.
  std::optional<int64_t> replaces{};
  std::string kernels{};  // the kernels; with the same ones, results repeat bit for bit
  std::string job{};      // job_identity() of the job; empty if unknown
};

// Whether every position in the state exists in the data.
inline bool has_places(const TrainingState& state, Sampler& sampler) {
  return sampler.holds(state.cursor) &&
         std::ranges::all_of(state.skipped, [&](const SkippedData& skipped) {
           return sampler.holds(skipped.from) && sampler.holds(skipped.to);
         });
}

}  // namespace berth
