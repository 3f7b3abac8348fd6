#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"
#include "trainer/loop/training_state.h"

namespace berth {

// What happened in some successive updates.
struct StepBucket {
  int64_t first = 0, last = 0;  // the updates, numbered from 1
  int64_t updates = 0;  // that were added: fewer than last - first + 1 where some are missing
  double loss_sum = 0, least_loss = 0, most_loss = 0;  // of the updates' mean losses
  double learning_rate = 0;                            // of the last one
  double examples = 0, tokens = 0, seconds = 0;        // sums

  double loss() const { return loss_sum / static_cast<double>(updates); }
};

// The updates of a job, however many, in at most kMost buckets of equal width. When they are full,
// each pair becomes one bucket. Peaks stay visible. Not thread-safe.
class StepCurve {
 public:
  static constexpr size_t kMost = 800;

  struct Update {
    int64_t step = 0;  // from 1
    double loss = 0, learning_rate = 0;
    double examples = 0, tokens = 0, seconds = 0;
  };
  // Adds an update. Ignores an update that is not later than the last one: a job that went back to
  // a checkpoint computes the same updates again. Also ignores an update whose numbers are not
  // finite.
  void add(const Update& update);
  // Forgets the updates after `step`. A bucket with updates on both sides stays whole.
  void forget_after(int64_t step);

  const std::vector<StepBucket>& buckets() const { return buckets_; }
  int64_t width() const { return width_; }  // of a bucket, in updates

  OrderedJson to_json() const;
  // A curve from to_json()'s value. Any other value gives an empty curve.
  static StepCurve from_json(const Json& value);

 private:
  void widen();

  int64_t width_ = 1;
  std::vector<StepBucket> buckets_;
};

// The history that a job's report carries from one process of the job to the next. The report holds
// it as a block of JSON. So the report is one file that is replaced as a whole, and other programs
// may read it.
struct JobHistory {
  struct Evaluation {
    int64_t step = 0;
    double epoch = 0, loss = 0;
    std::map<std::string, double> metrics{};
  };
  // A process that has trained here.
  struct Attempt {
    int64_t first_step = 0;           // the updates that were done before
    double began_s = 0, until_s = 0;  // by the wall clock: its start, and the last news of it
  };

  // The main score of a probe.
  struct Probe {
    int64_t step = 0;
    std::string name{}, metric{};
    double value = 0;
  };

  StepCurve curve{};
  std::vector<Evaluation> evaluations{};  // by their steps
  std::vector<Probe> probes{};            // by their steps
  std::vector<int64_t> checkpoints{};     // the updates after which one was complete
  std::vector<Attempt> attempts{};
  int64_t total_steps = 0;  // of the plan
  std::string metric{};     // by which the best model is chosen; "loss" is one

  static constexpr size_t kMostEvaluations = 1000, kMostProbes = 4000, kMostMarks = 1000;

  // An evaluation replaces the evaluations of its step and of later steps. The lists stay within
  // their limits: an evaluation or checkpoint in the middle makes room.
  void add(Evaluation evaluation);
  // A report of a probe replaces an earlier report of its step. If there are too many, new ones are
  // left out.
  void add_probe(const ProbeReport& report);
  void add_checkpoint(int64_t step);
  // A process begins after `first_step` updates. The history of later updates is dropped, because
  // they are done again.
  void begin_attempt(int64_t first_step, double now_s);

  double seconds() const;          // of all attempts
  const Evaluation* best() const;  // by `metric`; null: there is none
  std::optional<double> value(const Evaluation& evaluation, const std::string& name) const;

  std::string to_json() const;
  // Reads the history in a report's text. An empty one where the text is no report of this format.
  static JobHistory from_page(std::string_view page);
};

// How a page begins and ends its block. In between is the JSON, in the form of json_for_block().
inline constexpr std::string_view kHistoryBegin =
    R"(<script type="application/json" id="berth-history">)";
inline constexpr std::string_view kHistoryEnd = "</script>";

}  // namespace berth
