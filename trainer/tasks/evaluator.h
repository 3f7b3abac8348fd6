#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/tasks/answer_options.h"
#include "trainer/tasks/evaluation_details.h"

namespace berth {

// How well the model distinguishes one class, label or type of entity from the others.
struct ClassScore {
  std::string name;
  double precision = 0, recall = 0, f1 = 0;
  int64_t support = 0;  // how often it occurs
};

// What an evaluation reports beside the loss.
struct TaskScores {
  std::map<std::string, double> metrics{};  // with the names of metric_names()
  // The accuracy of always predicting the most frequent class, where texts have one class or tokens
  // are replaced.
  std::optional<double> majority_rate{};
  std::vector<ClassScore> classes{};
  // [true class][predicted class]. Empty unless texts have one class, of at most kMostInMatrix.
  std::vector<std::vector<int64_t>> confusion{};
  static constexpr int64_t kMostInMatrix = 200;
  EvaluationDetails details{};  // for reports to people
};

// Compares logits with the labels of a data set, which it borrows. Not thread-safe.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Adds the logits of the features at `index`. Called for each feature of the data set, in order.
  // The logits are [C]; for words and vectors of tokens [tokens,C]; for questions [tokens,2]. For
  // masked tokens they are [masked tokens,2], or [tokens,4] where tokens are replaced, as
  // Engine::infer() returns them.
  virtual void add(int64_t index, std::span<const float> logits) = 0;
  // Called once, after the last add().
  virtual TaskScores finish() = 0;
};

// The evaluator of the data set's task. `labels` are the names of the classes, in the order of the
// logits.
std::unique_ptr<Evaluator> make_evaluator(Dataset& data, const std::vector<std::string>& labels,
                                          const AnswerOptions& answers);

}  // namespace berth
