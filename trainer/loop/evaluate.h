#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/observer.h"
#include "trainer/tasks/answer_options.h"
#include "trainer/tasks/evaluator.h"

namespace berth {

struct EvaluationResult {
  int64_t examples = 0;
  double loss = 0;  // mean over the examples (their weights; a word's or token's where these count)
  TaskScores scores{};
  double seconds = 0;
};

// How logits are read.
struct ReadingOptions {
  std::vector<std::string> labels{};  // the classes' names
  AnswerOptions answers{};
};

// Called with each example's place in the data set and its logits ([C]; of words [tokens,C]; of
// answers [tokens,2]), in order.
using LogitsCallback = std::function<void(int64_t index, std::span<const float> logits)>;

// Runs the engine's model over all of `data`, `batch_size` examples at a time, without dropout.
// Returns the mean loss (0 when unlabelled), or nullopt when `stop` was set meanwhile.
std::optional<double> run_forward(Engine& engine, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits);

// Loss and metrics over labelled `data`; nullopt when `stop` was set meanwhile.
std::optional<EvaluationResult> evaluate(Engine& engine, Dataset& data, int64_t batch_size,
                                         const ReadingOptions& reading, Observer& observer,
                                         const std::atomic<bool>& stop);

}  // namespace berth
