#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "trainer/data/dataset.h"
#include "trainer/kernels/kernels.h"
#include "trainer/loop/observer.h"
#include "trainer/model/model.h"

namespace berth {

struct EvaluationResult {
  int64_t examples = 0;
  double loss = 0;  // mean over the examples
  std::map<std::string, double> metrics{};
  double majority_rate = 0;
  double seconds = 0;
};

// Called with each example's place in the data set and its logits [C], in order.
using LogitsCallback = std::function<void(int64_t index, std::span<const float> logits)>;

// Runs the model over all of `data`, `batch_size` examples at a time, without dropout. Returns the
// mean loss (0 when unlabelled), or nullopt when `stop` was set meanwhile.
std::optional<double> run_forward(Model& model, Kernels& kernels, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits);

// Loss and metrics over labelled `data`; nullopt when `stop` was set meanwhile.
std::optional<EvaluationResult> evaluate(Model& model, Kernels& kernels, Dataset& data,
                                         int64_t batch_size, int64_t num_labels, Observer& observer,
                                         const std::atomic<bool>& stop);

}  // namespace berth
