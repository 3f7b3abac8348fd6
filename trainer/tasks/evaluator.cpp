#include <algorithm>
#include <cmath>

#include "storage/base/counted.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/metrics/answers.h"
#include "trainer/metrics/entities.h"
#include "trainer/metrics/multi_label.h"
#include "trainer/metrics/regression.h"
#include "trainer/metrics/similarity.h"
#include "trainer/tasks/answer_picker.h"
#include "trainer/tasks/mistakes.h"
#include "trainer/tasks/number_sample.h"
#include "trainer/tasks/result_kinds.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

ClassScore class_score(const std::string& name, const ClassCounts& counts) {
  return {.name = name,
          .precision = counts.precision(),
          .recall = counts.recall(),
          .f1 = counts.f1(),
          .support = counts.support};
}

// One for each class, or none where there are too many.
std::vector<ThresholdCounts> thresholds_for(const Labels& labels) {
  return std::vector<ThresholdCounts>(
      labels.size() <= EvaluationDetails::kMostWithCurves ? labels.size() : 0);
}

class ClassEvaluator final : public Evaluator {
 public:
  ClassEvaluator(Dataset& data, const Labels& labels, ClassMetrics metrics)
      : data_(data),
        labels_(labels),
        metrics_(metrics),
        confusion_(static_cast<int64_t>(labels.size())),
        thresholds_(thresholds_for(labels)) {}

  void add(int64_t index, std::span<const float> logits) override {
    const int32_t truth = data_.features(index).classes.at(0);
    confusion_.add(logits, truth);
    const int64_t prediction = argmax(logits);
    const auto probabilities = softmax(logits);
    for (size_t i = 0; i < thresholds_.size(); ++i) {
      thresholds_[i].add(probabilities[i], static_cast<int64_t>(i) == truth);
    }
    const double probability = probabilities[static_cast<size_t>(prediction)];
    calibration_.add(probability, prediction == truth);
    if (prediction == truth || !mistakes_.wants(probability)) return;
    mistakes_.add(probability, index, labels_[static_cast<size_t>(truth)],
                  labels_[static_cast<size_t>(prediction)]);
  }

  TaskScores finish() override {
    TaskScores scores{.metrics = (confusion_.*metrics_)(),
                      .majority_rate = confusion_.majority_rate(),
                      .details = {.mistakes = mistakes_.with_texts(data_),
                                  .calibration = calibration_,
                                  .thresholds = thresholds_}};
    const int64_t classes = confusion_.num_classes();
    for (int64_t truth = 0; truth < classes; ++truth) {
      scores.classes.push_back(
          class_score(labels_[static_cast<size_t>(truth)], confusion_.of_class(truth)));
      if (classes > TaskScores::kMostInMatrix) continue;
      std::vector<int64_t>& row = scores.confusion.emplace_back();
      for (int64_t guess = 0; guess < classes; ++guess) {
        row.push_back(confusion_.count(truth, guess));
      }
    }
    return scores;
  }

 private:
  Dataset& data_;
  const Labels labels_;
  const ClassMetrics metrics_;
  ConfusionMatrix confusion_;
  std::vector<ThresholdCounts> thresholds_;
  Calibration calibration_;
  WorstMistakes mistakes_;
};

class NumberEvaluator final : public Evaluator {
 public:
  explicit NumberEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    const float prediction = logits[0], truth = data_.features(index).targets.at(0);
    metrics_.add(prediction, truth);
    sample_.add({.truth = truth, .prediction = prediction});
    const double distance = std::abs(static_cast<double>(prediction) - truth);
    if (!mistakes_.wants(distance)) return;
    mistakes_.add(distance, index, cat(truth), cat(prediction));
  }
  TaskScores finish() override {
    return {.metrics = metrics_.metrics(),
            .details = {.mistakes = mistakes_.with_texts(data_),
                        .numbers = sample_.pairs(),
                        .mean_squared_error = sample_.variance()}};
  }

 private:
  Dataset& data_;
  RegressionMetrics metrics_;
  NumberSample sample_;
  WorstMistakes mistakes_;
};

class VectorEvaluator final : public Evaluator {
 public:
  explicit VectorEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    const size_t width = data_.targets()->width();
    truths_.clear();
    data_.targets()->append_to(data_.row(index), truths_, data_.first_vector(index),
                               logits.size() / width);
    const std::span<const float> truths = truths_;
    for (size_t at = 0; at < logits.size(); at += width) {
      metrics_.add(logits.subspan(at, width), truths.subspan(at, width));
    }
  }
  TaskScores finish() override { return {.metrics = metrics_.metrics()}; }

 private:
  Dataset& data_;
  std::vector<float> truths_;
  SimilarityMetrics metrics_;
};

class SetEvaluator final : public Evaluator {
 public:
  SetEvaluator(Dataset& data, const Labels& labels)
      : data_(data),
        labels_(labels),
        metrics_(static_cast<int64_t>(labels.size())),
        thresholds_(thresholds_for(labels)) {}

  void add(int64_t index, std::span<const float> logits) override {
    const std::vector<float>& targets = data_.features(index).targets;
    metrics_.add(logits, targets);
    for (size_t i = 0; i < thresholds_.size(); ++i) {
      thresholds_[i].add(sigmoid(logits[i]), targets[i] > 0.5f);
    }
    const double probability = surest_mistake(logits, targets);
    if (probability == 0 || !mistakes_.wants(probability)) return;
    mistakes_.add(probability, index, names_where([&](size_t i) { return targets[i] > 0.5f; }),
                  names_where([&](size_t i) { return logits[i] > 0; }));
  }

  TaskScores finish() override {
    TaskScores scores{
        .metrics = metrics_.metrics(),
        .details = {.mistakes = mistakes_.with_texts(data_), .thresholds = thresholds_}};
    for (size_t label = 0; label < labels_.size(); ++label) {
      scores.classes.push_back(
          class_score(labels_[label], metrics_.of_label(static_cast<int64_t>(label))));
    }
    return scores;
  }

 private:
  // The probability of the wrong decision about a label of which the model is surest; 0: all are
  // right.
  static double surest_mistake(std::span<const float> logits, std::span<const float> targets) {
    double most = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      if ((logits[i] > 0) != (targets[i] > 0.5f))
        most = std::max(most, sigmoid(std::abs(logits[i])));
    }
    return most;
  }

  template <typename Holds>
  std::string names_where(const Holds& holds) const {
    std::string names;
    for (size_t i = 0; i < labels_.size(); ++i) {
      if (holds(i)) names += (names.empty() ? "" : ", ") + labels_[i];
    }
    return names.empty() ? "(none)" : names;
  }
  Dataset& data_;
  const Labels labels_;
  MultiLabelMetrics metrics_;
  std::vector<ThresholdCounts> thresholds_;
  WorstMistakes mistakes_;
};

class EntityEvaluator final : public Evaluator {
 public:
  EntityEvaluator(Dataset& data, const Labels& labels) : data_(data), labels_(labels) {}

  void add(int64_t index, std::span<const float> logits) override {
    const Features& features = data_.features(index);
    const std::vector<int32_t>& classes = features.classes;
    std::vector<std::string> truths, predictions;
    for (size_t token = 0; token < classes.size(); ++token) {
      if (classes[token] < 0) continue;
      const std::span<const float> of_token =
          logits.subspan(token * labels_.size(), labels_.size());
      const int64_t guess = argmax(of_token);
      truths.push_back(labels_[static_cast<size_t>(classes[token])]);
      predictions.push_back(labels_[static_cast<size_t>(guess)]);
      const double probability = softmax(of_token)[static_cast<size_t>(guess)];
      calibration_.add(probability, guess == classes[token]);
      if (guess == classes[token] || !mistakes_.wants(probability)) continue;
      const int64_t word = token < features.words.size() ? features.words[token] : -1;
      mistakes_.add(probability, index, truths.back(), predictions.back(), word);
    }
    metrics_.add(truths, predictions);
    count_cut(index, features);
  }

  TaskScores finish() override {
    if (cut_words_ > 0) {
      log_warning(cat(counted(cut_words_, "word"), " with ", cut_entities_, " of ", entities_,
                      " entities were not scored, because the model did not see them: they are "
                      "beyond --max-seq-length or have no token"));
    }
    TaskScores scores{
        .metrics = metrics_.metrics(),
        .details = {.mistakes = mistakes_.with_texts(data_), .calibration = calibration_}};
    for (const auto& [type, counts] : metrics_.types()) {
      scores.classes.push_back(class_score(type, counts));
    }
    return scores;
  }

 private:
  // Counts the entities of the sentence, and the entities that have a word without a token.
  void count_cut(int64_t index, const Features& features) {
    std::vector<std::string> tags = data_.label_names(index);
    std::ranges::replace(tags, std::string(), std::string("O"));
    std::vector<bool> is_seen(tags.size());
    for (const int32_t word : features.words) {
      if (word >= 0 && static_cast<size_t>(word) < tags.size()) {
        is_seen[static_cast<size_t>(word)] = true;
      }
    }
    cut_words_ += std::count(is_seen.begin(), is_seen.end(), false);
    for (const Entity& entity : entities_of(tags)) {
      ++entities_;
      bool is_whole = true;
      for (size_t word = entity.first; word <= entity.last; ++word) {
        is_whole = is_whole && is_seen[word];
      }
      cut_entities_ += !is_whole;
    }
  }

  Dataset& data_;
  const Labels labels_;
  int64_t cut_words_ = 0, cut_entities_ = 0, entities_ = 0;
  EntityMetrics metrics_;
  Calibration calibration_;
  WorstMistakes mistakes_;
};

// Whether no accepted answer has a word in common with the prediction.
bool is_wrong(const std::string& prediction, const std::vector<std::string>& truths) {
  if (truths.empty()) return !answer_words(prediction).empty();
  return std::ranges::none_of(
      truths, [&](const std::string& truth) { return answer_f1(prediction, truth) > 0; });
}

class AnswerEvaluator final : public Evaluator {
 public:
  AnswerEvaluator(Dataset& data, const AnswerOptions& options) : data_(data), picker_(options) {}

  void add(int64_t index, std::span<const float> logits) override {
    picker_.add(data_.features(index), logits);
    const int64_t next = index + 1;
    if (next < data_.size() && data_.row_index(next) == data_.row_index(index)) return;
    const Example example = data_.example(index);
    std::vector<std::string> truths;
    for (const Answer& answer : example.answers) truths.push_back(answer.text);
    const PickedAnswer picked = picker_.pick(example.texts.at(1));
    metrics_.add(picked.text, truths);
    if (mistakes_.wants(picked.probability) && is_wrong(picked.text, truths)) {
      mistakes_.add(picked.probability, index, truths.empty() ? "(no answer)" : truths.front(),
                    picked.text.empty() ? "(no answer)" : picked.text);
    }
  }

  TaskScores finish() override {
    return {.metrics = metrics_.metrics(), .details = {.mistakes = mistakes_.with_texts(data_)}};
  }

 private:
  Dataset& data_;
  AnswerPicker picker_;
  AnswerMetrics metrics_;
  WorstMistakes mistakes_;
};

}  // namespace

std::unique_ptr<Evaluator> make_class_evaluator(Dataset& data, const Labels& labels,
                                                ClassMetrics metrics) {
  return std::make_unique<ClassEvaluator>(data, labels, metrics);
}

std::unique_ptr<Evaluator> make_number_evaluator(Dataset& data, const Labels&,
                                                 const AnswerOptions&) {
  return std::make_unique<NumberEvaluator>(data);
}

std::unique_ptr<Evaluator> make_vector_evaluator(Dataset& data, const Labels&,
                                                 const AnswerOptions&) {
  return std::make_unique<VectorEvaluator>(data);
}

std::unique_ptr<Evaluator> make_set_evaluator(Dataset& data, const Labels& labels,
                                              const AnswerOptions&) {
  return std::make_unique<SetEvaluator>(data, labels);
}

std::unique_ptr<Evaluator> make_entity_evaluator(Dataset& data, const Labels& labels,
                                                 const AnswerOptions&) {
  return std::make_unique<EntityEvaluator>(data, labels);
}

std::unique_ptr<Evaluator> make_answer_evaluator(Dataset& data, const Labels&,
                                                 const AnswerOptions& answers) {
  return std::make_unique<AnswerEvaluator>(data, answers);
}

std::unique_ptr<Evaluator> make_evaluator(Dataset& data, const Labels& labels,
                                          const AnswerOptions& answers) {
  return results_of(data.task()).evaluator(data, labels, answers);
}

}  // namespace berth
