#pragma once

#include <deque>
#include <string>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "storage/base/clock.h"
#include "trainer/loop/observer.h"

namespace berth {

// Whether a tuning service waits for metrics: it named this trial or the file, or the user asked.
bool wants_hypertune_file(const Tuning& tuning, const std::string& asked);

// The metric to report: the one that was asked for, else the one that the service's tag names, else
// the one that tells the best model, else the task's main. Throws kUsage where the one asked for is
// none of the task's `metrics`, nor loss.
std::string hypertune_metric(const Tuning& tuning, const std::string& asked,
                             const std::string& best_metric,
                             const std::vector<std::string>& metrics);

// The file that hyperparameter tuning of Vertex AI reads, as the Python package cloudml-hypertune
// writes it: after every evaluation the newest 100 records, one JSON object a line, its keys sorted
// and its values texts but for the timestamp. Rewritten whole and in place, as there; a failure is
// a warning.
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

// As Python's str() has it: the fewest digits that read back, "1.0", "1e-05", "nan".
std::string python_text(double value);

}  // namespace berth
