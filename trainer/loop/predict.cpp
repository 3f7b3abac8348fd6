#include "trainer/loop/predict.h"

#include <cstdio>

#include "trainer/loop/evaluate.h"
#include "trainer/metrics/classification.h"

namespace berth {
namespace {

// A label inside a tab-separated line.
std::string one_field(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

}  // namespace

bool write_predictions(Model& model, Kernels& kernels, Dataset& data, int64_t batch_size,
                       const std::vector<std::string>& labels, Observer& observer,
                       const std::atomic<bool>& stop, ByteSink& sink) {
  std::string line = "id\tprediction";
  for (const std::string& label : labels) line.append("\t").append(one_field(label));
  line += "\n";
  sink.write(as_bytes(line));
  const auto write_row = [&](int64_t index, std::span<const float> logits) {
    line = std::to_string(data.row(index)) + "\t" +
           one_field(labels[static_cast<size_t>(argmax(logits))]);
    for (const double probability : softmax(logits)) {
      char text[32];
      std::snprintf(text, sizeof text, "\t%.9f", probability);
      line += text;
    }
    line += "\n";
    sink.write(as_bytes(line));
    observer.on_evaluating(index + 1, data.size());
  };
  return run_forward(model, kernels, data, batch_size, stop, write_row).has_value();
}

}  // namespace berth
