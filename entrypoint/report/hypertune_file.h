#pragma once

#include <deque>
#include <string>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "storage/base/clock.h"
#include "trainer/loop/observer.h"

namespace berth {

// The metric to report: the metric `asked`, else the one that the service's tag names, else the one
// that decides which model is best, else the task's main metric. Throws kUsage if `asked` is
// neither loss nor one of the task's `metrics`.
std::string hypertune_metric(const Tuning& tuning, const std::string& asked,
                             const std::string& best_metric,
                             const std::vector<std::string>& metrics);

// Writes the file from which Vertex AI reads the metrics of a trial, in the format of the Python
// package cloudml-hypertune: the newest 100 records, one JSON object a line, whose keys are sorted
// and whose values are texts except for the timestamp. After every evaluation the whole file is
// rewritten in place, as that package does. A failure is a warning.
class HypertuneFile final : public Observer {
 public:
  HypertuneFile(Tuning tuning, std::string metric, Clock wall_clock = wall_clock_s);

  void on_evaluation(const EvaluationReport& report) override;

 private:
  void write() const;

  const std::string path_, trial_, metric_, tag_;
  const Clock wall_clock_;
  std::deque<std::string> records_;  // lines
};

// A number as Python's str() writes it, with the fewest digits that read back: "1.0", "1e-05",
// "nan".
std::string python_text(double value);

}  // namespace berth
