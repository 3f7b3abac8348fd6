#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/report/html/step_curve.h"
#include "trainer/loop/probe_report.h"

namespace berth {

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
