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

namespace berth {

// How well one class, kind of entity or label is told.
struct ClassScore {
  std::string name;
  double precision = 0, recall = 0, f1 = 0;
  int64_t support = 0;  // how often it is true
};

// What an evaluation says beside the loss.
struct TaskScores {
  std::map<std::string, double> metrics{};  // metric_names() of the task
  std::optional<double> majority_rate{};    // the accuracy of always saying the commonest class
  std::vector<ClassScore> classes{};
  // [true class][predicted], of one class a text and at most kMostInMatrix classes.
  std::vector<std::vector<int64_t>> confusion{};
  static constexpr int64_t kMostInMatrix = 200;
};

// Compares logits with the labels of a data set. Borrows the data set.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // The logits of the features at `index`, in order: [C], of words [tokens,C], of answers
  // [tokens,2].
  virtual void add(int64_t index, std::span<const float> logits) = 0;
  // After the last. At most once.
  virtual TaskScores finish() = 0;
};

// `labels` are the classes' names.
std::unique_ptr<Evaluator> make_evaluator(Dataset& data, const std::vector<std::string>& labels,
                                          const AnswerOptions& answers);

}  // namespace berth
