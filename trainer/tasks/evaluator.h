#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/metrics/metrics.h"
#include "trainer/tasks/prediction_rules.h"

namespace berth {

// A text for people to look at: its first few hundred bytes, up to the end of a character.
std::string shown_part(const std::string& text);

// A wrong prediction, for people to look at.
struct Mistake {
  std::string id{};  // of its row: its own, or its number in the source
  // The texts of the row, each cut at a few hundred bytes; none where the source has token ids. For
  // a tag, the word and then its sentence.
  std::vector<std::string> texts{};
  std::string truth{}, prediction{};
  // The probability of the predicted class. For sets of labels, the probability of the wrong label
  // of which the model is surest. For numbers, the distance from the truth.
  double badness = 0;
};

// A query of a retrieval set that did not find everything that is relevant at first. Texts are cut
// at a few hundred bytes.
struct MissedQuery {
  std::string id{}, query{};
  std::string wanted_id{}, wanted{};  // the most relevant passage
  std::optional<int64_t> rank{};      // of that passage, from 1; empty: not among the first 100
  std::string first_id{}, first{};    // the passage that was found first
  double ndcg = 0;                    // nDCG@10
};

struct NumberPair {
  float truth = 0, prediction = 0;
};

// What an evaluation shows beside its scores. The sizes do not grow with the data.
struct EvaluationDetails {
  std::vector<Mistake> mistakes{};           // the worst first
  std::optional<Calibration> calibration{};  // where texts or words have one class
  std::vector<NumberPair> numbers{};  // of some rows, evenly spaced, where labels are numbers
  // In the order of TaskScores::classes. Empty unless texts have classes, at most kMostWithCurves.
  std::vector<ThresholdCounts> thresholds{};
  static constexpr size_t kMostWithCurves = 20;
  std::optional<double> mean_squared_error{};  // of always predicting the mean of the truths
  std::vector<MissedQuery> missed{};           // the worst first; at most ten
};

// The worst of the wrong predictions of an evaluation: at most kMost, whatever the number of rows.
// If mistakes are equally bad, the first ones stay. Not thread-safe.
class WorstMistakes {
 public:
  static constexpr size_t kMost = 40;
  static constexpr size_t kTextBytes = 600;  // the longest stored text of a row

  // Whether a mistake of this badness would be stored. Callers check this before they name truth
  // and prediction. NaN is never stored.
  bool wants(double badness) const;
  // Adds the mistake in the features at `index`. It concerns the word number `word` of the row, or
  // all of it.
  void add(double badness, int64_t index, std::string truth, std::string prediction,
           int64_t word = -1);

  // The mistakes, the worst first, with the texts of their rows.
  std::vector<Mistake> with_texts(const Dataset& data) const;

 private:
  struct Found {
    double badness;
    int64_t index, word;
    std::string truth, prediction;
  };
  static bool is_worse(const Found& a, const Found& b);

  std::vector<Found> found_;  // a heap, on top of which is the least bad one
};

// Some of the predicted numbers beside the true ones, evenly spaced over the rows, for a plot: at
// most kMost, and at least half of kMost if there are enough rows. Also the variance of all truths.
// Not thread-safe.
class NumberSample {
 public:
  static constexpr size_t kMost = 600;

  void add(NumberPair pair);

  const std::vector<NumberPair>& pairs() const { return pairs_; }
  // The mean squared error of always predicting the mean of the truths (Welford 1962). nullopt
  // where there are none.
  std::optional<double> variance() const;

 private:
  std::vector<NumberPair> pairs_;  // of the rows number 0, stride_, 2 * stride_, ...
  int64_t rows_ = 0, stride_ = 1;
  double mean_ = 0, squares_ = 0;
};

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
  // Above which probability each label of a set was predicted. Empty: 0.5.
  std::vector<double> label_thresholds{};
  EvaluationDetails details{};  // for reports to people
  // What the metrics with "_at_" in their names are of: "within a batch of 32". Empty without them.
  std::string note{};
};

// Compares logits with the labels of a data set, which it borrows. Not thread-safe.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Adds the logits of the features at `index`. Called for each feature of the data set, in order.
  // The logits are [C]; for words and vectors of tokens [tokens,C]; for questions [tokens,2]; for
  // rerankers [passages]; for choices [choices]. For texts that are compared they are
  // [1 + shorter sizes], or [2] where the second number says whether the text found its partner.
  // For masked tokens they are as Engine::infer() returns them: [masked tokens,2], or [tokens,4]
  // where tokens are replaced. Where pairs are judged, the pair's two logits stand before them.
  virtual void add(int64_t index, std::span<const float> logits) = 0;
  // Called once, after the last add().
  virtual TaskScores finish() = 0;
};

// The evaluator of the data set's task. `labels` are the names of the classes, in the order of the
// logits.
std::unique_ptr<Evaluator> make_evaluator(Dataset& data, const std::vector<std::string>& labels,
                                          const PredictionRules& rules);

}  // namespace berth
