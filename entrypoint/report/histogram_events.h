#pragma once

#include <string>
#include <vector>

#include "entrypoint/report/event_files.h"
#include "storage/base/background.h"
#include "storage/base/clock.h"
#include "storage/formats/plugin_events.h"
#include "trainer/loop/observer.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// Writes a histogram of each parameter that trains, at each evaluation, for TensorBoard's tabs
// Histograms and Distributions. They are named after the parameters, with the part of each layer
// as a group: "bert.encoder.layer.0/attention.self.query.weight". Borrows the parameters, which no
// update changes during an evaluation. A write that fails is a warning.
class HistogramEvents final : public Observer {
 public:
  HistogramEvents(Storage& storage, const Uri& summary_dir, const std::string& writer,
                  const ParameterTensors& values, Clock wall_clock = wall_clock_s);

  void on_evaluation(const EvaluationReport& report) override;
  void on_finish() override { background_.wait(); }

 private:
  std::vector<HistogramBucket> buckets_of(size_t index) const;

  const ParameterTensors& values_;
  const Clock wall_clock_;
  EventRun run_;
  Background background_;  // the last member, because it must end before the members that it uses
};

// "bert.encoder.layer.0.output.dense.bias" -> "bert.encoder.layer.0/output.dense.bias". A parameter
// outside of the layers is in a group with the name of its first word.
std::string histogram_tag(const std::string& parameter);

}  // namespace berth
