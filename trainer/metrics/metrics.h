#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/metrics/label_thresholds.h"

namespace berth {

// part / whole; 0 where the whole is 0, as scikit-learn computes it with zero_division=0.
inline double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Counts of one class, and the rates that follow from them (van Rijsbergen 1979). `predicted`
// counts examples that were predicted to be of the class, and `support` counts examples that are.
// `true_positives` counts examples for which both hold. The precision of a class that was never
// predicted is 0, and so is the recall of a class that does not occur.
struct ClassCounts {
  int64_t true_positives = 0, predicted = 0, support = 0;

  double precision() const { return ratio(true_positives, predicted); }
  double recall() const { return ratio(true_positives, support); }
  double f1() const { return ratio(2 * true_positives, predicted + support); }

  ClassCounts& operator+=(const ClassCounts& other) {
    true_positives += other.true_positives;
    predicted += other.predicted;
    support += other.support;
    return *this;
  }
};

// Counts the pairs of (true class, predicted class), and computes metrics from them as scikit-learn
// does. Memory is proportional to the number of classes and of different pairs. Not thread-safe.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t num_classes);

  // Adds one example. The predicted class has the largest logit; on a tie, the lowest class wins.
  void add(std::span<const float> logits, int32_t label);

  int64_t num_classes() const { return static_cast<int64_t>(classes_.size()); }
  int64_t examples() const { return examples_; }
  // The number of examples of class `truth` that were predicted to be of class `prediction`.
  int64_t count(int64_t truth, int64_t prediction) const;
  // The counts of one class, which give its precision, recall, F1 and support.
  const ClassCounts& of_class(int64_t label) const { return classes_[static_cast<size_t>(label)]; }

  // accuracy, and
  //   of two classes: precision, recall and f1 of class 1, and matthews_correlation,
  //   of more: f1_macro, the mean over the classes that occur or are predicted.
  std::map<std::string, double> metrics() const;
  // Matthews 1975; for more than two classes R_K (Gorodkin 2004). 0 where all truths or all
  // predictions are of one class.
  double matthews_correlation() const;
  // The accuracy of a model that always predicts the most frequent true class.
  double majority_rate() const;

 private:
  int64_t correct() const;

  int64_t examples_ = 0;
  std::vector<ClassCounts> classes_;
  std::map<std::pair<int64_t, int64_t>, int64_t> counts_;  // of (truth, prediction); none is 0
};

// The index of the largest value, the lowest on a tie.
int64_t argmax(std::span<const float> values);

// Softmax in double precision.
std::vector<double> softmax(std::span<const float> logits);

// Scores predicted sets of classes against the true ones, as scikit-learn does with indicator
// matrices. A class is predicted where its probability, sigmoid(logit), is above its threshold, and
// true where its target is above 0.5. Not thread-safe.
class MultiLabelMetrics {
 public:
  explicit MultiLabelMetrics(int64_t num_labels);

  // Adds one example, with a logit and a target for each label.
  void add(std::span<const float> logits, std::span<const float> targets,
           const LabelThresholds& thresholds = {});

  int64_t examples() const { return examples_; }
  // The counts of one label, which give its precision, recall, F1 and support.
  const ClassCounts& of_label(int64_t label) const { return labels_[static_cast<size_t>(label)]; }

  // accuracy: the share of examples whose whole set is right;
  // f1_micro: the F1 of the sums of all labels' counts;
  // f1_macro: the mean F1 over the labels, with 0 for a label that neither occurs nor is predicted.
  std::map<std::string, double> metrics() const;

 private:
  std::vector<ClassCounts> labels_;
  int64_t examples_ = 0, right_ = 0;
};

// The logistic function in double precision.
double sigmoid(float logit);

// The curve of precision over recall of one class: how many examples a threshold on the class's
// probability would predict to be of it, for 201 thresholds at equal distances from 0 to 1. These
// are the thresholds, and the counts, of TensorBoard's PR curves (plugins/pr_curve/summary.py).
// Not thread-safe.
class ThresholdCounts {
 public:
  static constexpr size_t kThresholds = 201;

  // Adds one example with the probability that the model gives to the class, from 0 to 1. One that
  // is not a number is not counted.
  void add(double probability, bool is_of_class);

  int64_t examples() const;
  // The counts where the class is predicted from the threshold i/200 on, for each i. Probabilities
  // are first rounded down to the next threshold.
  std::array<ClassCounts, kThresholds> at_thresholds() const;

 private:
  // By the largest threshold that is not above the probability.
  std::array<int64_t, kThresholds> of_class_{}, others_{};
};

// The area under the receiver operating characteristic: the probability that a positive example has
// a higher logit than a negative one, where a tie counts half (sklearn.metrics.roc_auc_score). So
// that memory does not grow with the examples, logits are rounded to one of 65,536 steps between
// -16 and 16. Not thread-safe.
class RocArea {
 public:
  RocArea();

  void add(float logit, bool is_positive, double weight = 1);
  // 0.5 where all examples are positive or all are negative.
  double area() const;

 private:
  std::vector<double> positive_, negative_;  // the weight in each step
};

// How well scores put the examples of a class before all others. Equals scikit-learn, to which the
// area above is close: it keeps every score, 4 bytes for each example. Not thread-safe.
class RankedScores {
 public:
  // A score that is not a number is not counted.
  void add(float score, bool is_of_class);

  bool has_both() const { return !positives_.empty() && !negatives_.empty(); }
  // The area under the receiver operating characteristic (roc_auc_score); 0.5 unless has_both().
  double roc_area() const;
  // The mean precision at the scores of all examples of the class (average_precision_score). Equal
  // scores are one threshold. 0 if there are no such examples.
  double average_precision() const;

 private:
  // Calls `visit` with the numbers of positive and negative examples of each score, the highest
  // score first.
  template <typename Visit>
  void visit_scores(const Visit& visit) const;

  std::vector<float> positives_, negatives_;
};

// The scores of each class or label among all examples.
class RankedClasses {
 public:
  // Where there are more classes than this, nothing is kept.
  static constexpr size_t kMost = 20;

  explicit RankedClasses(size_t classes) : classes_(classes <= kMost ? classes : 0) {}

  void add(size_t index, float score, bool is_of_class) {
    if (index < classes_.size()) classes_[index].add(score, is_of_class);
  }
  // roc_auc and average_precision: the means over the classes that have examples and
  // counterexamples. NaN where no class has both. Empty if there are more than kMost classes.
  std::map<std::string, double> metrics() const;

 private:
  std::vector<RankedScores> classes_;
};

// Whether the true class is among the `k` classes with the largest logits, as
// top_k_accuracy_score of scikit-learn counts it. Of equal logits the higher class comes first
// there, and here.
bool is_among_first(std::span<const float> logits, int32_t label, int64_t k);

// How reliable the probabilities of predictions are (Guo et al. 2017, arXiv:1706.04599).
// Predictions are put into ten bins of equal width by their probability. Each bin compares the mean
// probability with the share of predictions that are right. Not thread-safe.
class Calibration {
 public:
  static constexpr size_t kBins = 10;
  struct Bin {
    int64_t count = 0, right = 0;
    double probabilities = 0;  // their sum

    double confidence() const {
      return count == 0 ? 0 : probabilities / static_cast<double>(count);
    }
    double accuracy() const {
      return count == 0 ? 0 : static_cast<double>(right) / static_cast<double>(count);
    }
  };

  // Adds one prediction and the probability that the model gives it, from 0 to 1. NaN is not
  // counted.
  void add(double probability, bool is_right);

  int64_t predictions() const { return predictions_; }
  // Bin i has the probabilities from i/10 up to, and without, (i+1)/10; the last one has 1, too.
  const std::array<Bin, kBins>& bins() const { return bins_; }
  // The expected calibration error: the mean over all predictions of the distance between their
  // bin's confidence and accuracy. 0 where there are none.
  double error() const;

 private:
  std::array<Bin, kBins> bins_{};
  int64_t predictions_ = 0;
};

// Scores predicted numbers against the true ones, as scipy.stats does. Keeps all of them, since
// ranks need all. Not thread-safe.
class RegressionMetrics {
 public:
  void add(double prediction, double truth);

  size_t examples() const { return truths_.size(); }

  // Each is 0 where there are no examples, and NaN where any of the numbers is.

  // The mean squared error.
  double mse() const;
  // Pearson's correlation (1895). NaN where the predictions or the truths are all equal, as in
  // scipy.
  double pearson() const;
  // Spearman's correlation (1904): Pearson's of the ranks, where equal values share the mean of
  // their ranks. NaN as above.
  double spearman() const;

  // mse, pearson, spearman.
  std::map<std::string, double> metrics() const;

 private:
  std::vector<double> predictions_, truths_;
};

// Compares the directions of predicted vectors with the directions of the true ones. Not
// thread-safe.
class SimilarityMetrics {
 public:
  // Both have the same length.
  void add(std::span<const float> prediction, std::span<const float> truth);

  // cosine_similarity: the mean cosine of the angle between prediction and truth, where a zero
  // vector counts as 0. It is 0 where there are no examples.
  std::map<std::string, double> metrics() const;

 private:
  double cosines_ = 0;
  int64_t examples_ = 0;
};

// A named entity in a sentence.
struct Entity {
  std::string type;
  size_t first = 0, last = 0;  // its first and its last word
  auto operator<=>(const Entity&) const = default;
};

// The entities that the tags of one sentence mark. This follows seqeval's get_entities in its
// default mode, which follows conlleval. It reads the schemes IOB1, IOB2 and BIOES, and a tag that
// does not fit the one before it begins a new entity. The tag "B" alone has the type "_". Words
// that repeat a tag without a prefix ("PER") are one entity, whose type is the whole tag. seqeval
// takes the first letter of such a tag for a prefix. This gives the same entities, unless the
// letter is B, I, E, S or O.
std::vector<Entity> entities_of(std::span<const std::string> tags);

// Scores predicted tags against the true ones by the entities that they mark, as seqeval does. A
// predicted entity is right where its type and both of its ends are. Not thread-safe.
class EntityMetrics {
 public:
  // Adds one sentence. There are as many predictions as truths.
  void add(std::span<const std::string> truths, std::span<const std::string> predictions);

  int64_t words() const { return words_; }
  // The counts of each type that occurs or is predicted.
  const std::map<std::string, ClassCounts>& types() const { return types_; }

  // precision, recall and entity_f1 over all entities together (seqeval's micro average), and the
  // accuracy of the tags.
  std::map<std::string, double> metrics() const;

 private:
  std::map<std::string, ClassCounts> types_;
  int64_t words_ = 0, right_ = 0;
};

// An answer as the evaluation scripts of SQuAD (Rajpurkar et al. 2016, arXiv:1606.05250) compare
// it: in lower case, without ASCII punctuation, without the words a, an and the, with single
// spaces.
std::string normalized_answer(std::string_view text);

// The words of the normalized answer.
std::vector<std::string> answer_words(std::string_view text);

// The F1 of the words that a predicted answer shares with a gold answer, from 0 to 1. Where either
// has no words, it is 1 if neither has.
double answer_f1(std::string_view prediction, std::string_view gold);

// Scores predicted answers against several gold answers each, as the script of SQuAD 2.0 (Rajpurkar
// et al. 2018, arXiv:1806.03822) does. The script of SQuAD 1.1 differs only where a gold answer has
// no words. Not thread-safe.
class AnswerMetrics {
 public:
  // Adds one question. Its score is the best over the gold answers. Where no gold answer has a
  // word, the question has no answer, and only a prediction without a word is right.
  void add(std::string_view prediction, std::span<const std::string> gold_answers);

  int64_t questions() const { return questions_; }

  // exact_match and f1: means over all questions, from 0 to 1. The scripts print percent.
  std::map<std::string, double> metrics() const;

 private:
  int64_t questions_ = 0;
  double exact_sum_ = 0, f1_sum_ = 0;
};

}  // namespace berth
