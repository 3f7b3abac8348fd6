#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/observer.h"
#include "trainer/tasks/answer_options.h"
#include "trainer/tasks/evaluator.h"

namespace berth {

struct EvaluationResult {
  int64_t examples = 0;
  double loss = 0;  // mean over the examples, words or tokens, by their weights
  TaskScores scores{};
  double seconds = 0;
};

// What is needed to interpret logits.
struct ReadingOptions {
  std::vector<std::string> labels{};  // the names of the classes
  AnswerOptions answers{};
};

// Called for each example in order, with its index in the data set and its logits: [C], [tokens,C]
// for classes of words and for vectors of tokens, [tokens,2] for answers, or [masked tokens,2] and
// [tokens,4] as Engine::infer() says.
using LogitsCallback = std::function<void(int64_t index, std::span<const float> logits)>;

// Runs the engine's model over all of `data`, `batch_size` examples at a time, without dropout.
// Returns the mean loss, which is 0 for unlabelled data, or nullopt if `stop` was set meanwhile.
// With several ranks, each computes some of the batches. All of them get all logits and return the
// same value, also if `stop` was set on one of them. `ranks` may be null.
std::optional<double> run_forward(Engine& engine, Dataset& data, int64_t batch_size,
                                  const std::atomic<bool>& stop, const LogitsCallback& logits,
                                  Communicator* ranks = nullptr);

// Computes the loss and the metrics over labelled `data`. Returns nullopt if `stop` was set
// meanwhile. `ranks` as above.
std::optional<EvaluationResult> evaluate(Engine& engine, Dataset& data, int64_t batch_size,
                                         const ReadingOptions& reading, Observer& observer,
                                         const std::atomic<bool>& stop,
                                         Communicator* ranks = nullptr);

}  // namespace berth
