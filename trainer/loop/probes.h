#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/engine/engine.h"
#include "trainer/inputs/options.h"
#include "trainer/loop/plan.h"
#include "trainer/loop/training_state.h"

namespace berth {

// Fine-tunes the current encoder on small labelled tasks, to show the progress of pre-training. The
// loop's thread calls it.
class Probes {
 public:
  virtual ~Probes() = default;

  // Probes the encoder after `step` updates. It reads the engine's values and changes nothing. No
  // update is in flight. Returns a report for each probe that succeeded: a probe that fails is a
  // warning and never ends the training. Returns nullopt after a stop signal, which abandons the
  // running probe.
  virtual std::optional<std::vector<ProbeReport>> run(const Engine& engine, int64_t step) = 0;
};

// Decides when the loop probes: before the first update, then whenever --probe-steps updates have
// passed or else where an evaluation is due, and after the last update.
class ProbeRule {
 public:
  ProbeRule(const ProbeOptions& probes, const TrainingOptions& options, const Plan& plan)
      : every_(probes.steps), options_(options), plan_(plan) {}

  // Whether a probe is due after `step` updates, where the last one was after `probed_step`; -1:
  // there was none, so that one is due at once.
  bool due(int64_t step, int64_t probed_step) const;
  // The steps of an uninterrupted job that are probed.
  int64_t count() const;

 private:
  int64_t probes_until(int64_t step) const;

  int64_t every_;
  TrainingOptions options_;
  Plan plan_;
};

// For each probe, in the order of `reports`, a sentence with its first and last main score: "probe
// topics: accuracy 0.6100 at step 0, 0.8400 at step 2000".
std::vector<std::string> probe_summaries(const std::vector<ProbeReport>& reports);

}  // namespace berth
