#include "trainer/tasks/evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/metrics/metrics.h"
#include "trainer/tasks/answer_picker.h"
#include "trainer/tasks/result_kinds.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

// The words around number `word`, joined by blanks.
std::string sentence_around(const std::vector<std::string>& words, size_t word) {
  constexpr size_t kBefore = 12, kAfter = 24;
  const size_t begin = word > kBefore ? word - kBefore : 0;
  const size_t end = std::min(words.size(), word + kAfter);
  std::string sentence = begin > 0 ? "…" : "";
  for (size_t i = begin; i < end && sentence.size() < WorstMistakes::kTextBytes; ++i) {
    sentence += (sentence.empty() ? "" : " ") + shortened(words[i], WorstMistakes::kTextBytes);
  }
  return end < words.size() ? sentence + " …" : sentence;
}

}  // namespace

std::string shown_part(const std::string& text) {
  return shortened(text, WorstMistakes::kTextBytes);
}

bool WorstMistakes::is_worse(const Found& a, const Found& b) {
  if (a.badness != b.badness) return a.badness > b.badness;
  return std::pair(a.index, a.word) < std::pair(b.index, b.word);
}

bool WorstMistakes::wants(double badness) const {
  return std::isfinite(badness) && (found_.size() < kMost || badness > found_.front().badness);
}

void WorstMistakes::add(double badness, int64_t index, std::string truth, std::string prediction,
                        int64_t word) {
  if (!wants(badness)) return;
  if (found_.size() == kMost) {
    std::ranges::pop_heap(found_, is_worse);
    found_.pop_back();
  }
  found_.push_back(
      {badness, index, word, shortened(truth, kTextBytes), shortened(prediction, kTextBytes)});
  std::ranges::push_heap(found_, is_worse);
}

std::vector<Mistake> WorstMistakes::with_texts(const Dataset& data) const {
  std::vector<Found> sorted = found_;
  std::ranges::sort(sorted, is_worse);
  std::vector<Mistake> mistakes;
  for (const Found& found : sorted) {
    const Example example = data.example(found.index);
    Mistake& mistake = mistakes.emplace_back(
        Mistake{.id = example.id.empty() ? std::to_string(data.source_row(found.index))
                                         : shortened(example.id, kTextBytes),
                .truth = found.truth,
                .prediction = found.prediction,
                .badness = found.badness});
    const auto word = static_cast<size_t>(found.word);
    if (found.word >= 0 && word < example.texts.size()) {
      mistake.texts = {shortened(example.texts[word], kTextBytes),
                       sentence_around(example.texts, word)};
      continue;
    }
    for (const std::string& text : example.texts)
      mistake.texts.push_back(shortened(text, kTextBytes));
  }
  return mistakes;
}

void NumberSample::add(NumberPair pair) {
  if (rows_ % stride_ == 0) {
    if (pairs_.size() == kMost) {
      for (size_t i = 0; i < kMost / 2; ++i) pairs_[i] = pairs_[2 * i];
      pairs_.resize(kMost / 2);
      stride_ *= 2;
    }
    pairs_.push_back(pair);
  }
  ++rows_;
  const double distance = static_cast<double>(pair.truth) - mean_;
  mean_ += distance / static_cast<double>(rows_);
  squares_ += distance * (static_cast<double>(pair.truth) - mean_);
}

std::optional<double> NumberSample::variance() const {
  if (rows_ == 0) return std::nullopt;
  return squares_ / static_cast<double>(rows_);
}

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
  ClassEvaluator(Dataset& data, const Labels& labels, bool correlates)
      : data_(data),
        labels_(labels),
        correlates_(correlates),
        confusion_(static_cast<int64_t>(labels.size())),
        ranked_(labels.size() == 2 ? 1 : labels.size()),
        thresholds_(thresholds_for(labels)) {}

  void add(int64_t index, std::span<const float> logits) override {
    const int32_t truth = data_.features(index).classes.at(0);
    confusion_.add(logits, truth);
    in_first_five_ += is_among_first(logits, truth, kTopClasses) ? 1 : 0;
    const int64_t prediction = argmax(logits);
    const auto probabilities = softmax(logits);
    rank(logits, probabilities, truth);
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
    TaskScores scores{.metrics = all_metrics(),
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
  // Of two classes, only the second one is ranked. The difference of the logits keeps an order
  // where probabilities round to 1.
  void rank(std::span<const float> logits, std::span<const double> probabilities, int32_t truth) {
    if (logits.size() == 2) return ranked_.add(0, logits[1] - logits[0], truth == 1);
    for (size_t i = 0; i < probabilities.size(); ++i) {
      ranked_.add(i, static_cast<float>(probabilities[i]), static_cast<int64_t>(i) == truth);
    }
  }

  std::map<std::string, double> all_metrics() const {
    std::map<std::string, double> metrics = confusion_.metrics();
    metrics.merge(ranked_.metrics());
    if (correlates_) metrics["matthews_correlation"] = confusion_.matthews_correlation();
    if (confusion_.num_classes() > kTopClasses) {
      metrics["top_5_accuracy"] = ratio(in_first_five_, confusion_.examples());
    }
    return metrics;
  }

  Dataset& data_;
  const Labels labels_;
  const bool correlates_;
  ConfusionMatrix confusion_;
  RankedClasses ranked_;
  int64_t in_first_five_ = 0;
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

// If the evaluation chooses the thresholds, the rows are kept until all are there.
class SetEvaluator final : public Evaluator {
 public:
  SetEvaluator(Dataset& data, const Labels& labels, const LabelThresholds& thresholds)
      : data_(data),
        labels_(labels),
        thresholds_(thresholds),
        metrics_(static_cast<int64_t>(labels.size())),
        ranked_(labels.size()),
        curves_(thresholds_for(labels)) {}

  void add(int64_t index, std::span<const float> logits) override {
    const std::vector<float>& targets = data_.features(index).targets;
    for (size_t i = 0; i < labels_.size(); ++i) ranked_.add(i, logits[i], targets[i] > 0.5f);
    for (size_t i = 0; i < curves_.size(); ++i) {
      curves_[i].add(sigmoid(logits[i]), targets[i] > 0.5f);
    }
    if (!chooses()) return count(index, logits, targets);
    kept_.push_back(index);
    kept_logits_.insert(kept_logits_.end(), logits.begin(), logits.end());
    kept_targets_.insert(kept_targets_.end(), targets.begin(), targets.end());
  }

  TaskScores finish() override {
    if (chooses()) choose();
    TaskScores scores{.metrics = metrics_.metrics(),
                      .label_thresholds = thresholds_.given,
                      .details = {.mistakes = mistakes_.with_texts(data_), .thresholds = curves_}};
    scores.metrics.merge(ranked_.metrics());
    for (size_t label = 0; label < labels_.size(); ++label) {
      scores.classes.push_back(
          class_score(labels_[label], metrics_.of_label(static_cast<int64_t>(label))));
    }
    return scores;
  }

 private:
  bool chooses() const { return thresholds_.choice != LabelThresholds::Choice::kGiven; }

  // Finds the thresholds, and counts the kept rows with them.
  void choose() {
    const bool is_one_for_all = thresholds_.choice == LabelThresholds::Choice::kBestForAll;
    const size_t labels = labels_.size();
    std::vector<LabelledLogit> rows;
    thresholds_ = {};
    for (size_t label = 0; label < labels; ++label) {
      for (size_t row = 0; row < kept_.size(); ++row) {
        const size_t at = row * labels + label;
        rows.push_back({kept_logits_[at], kept_targets_[at] > 0.5f});
      }
      if (is_one_for_all) continue;
      thresholds_.given.push_back(best_threshold(std::move(rows)));
      rows.clear();
    }
    if (is_one_for_all) thresholds_.given.assign(labels, best_threshold(std::move(rows)));
    for (size_t row = 0; row < kept_.size(); ++row) {
      count(kept_[row], std::span(kept_logits_).subspan(row * labels, labels),
            std::span(kept_targets_).subspan(row * labels, labels));
    }
  }

  void count(int64_t index, std::span<const float> logits, std::span<const float> targets) {
    metrics_.add(logits, targets, thresholds_);
    const double probability = surest_mistake(logits, targets);
    if (probability == 0 || !mistakes_.wants(probability)) return;
    mistakes_.add(probability, index, names_where([&](size_t i) { return targets[i] > 0.5f; }),
                  names_where([&](size_t i) { return predicts(logits, i); }));
  }

  bool predicts(std::span<const float> logits, size_t label) const {
    return is_predicted(logits[label], thresholds_.of_label(label));
  }

  // The probability of the wrong decision about a label of which the model is surest; 0: all are
  // right.
  double surest_mistake(std::span<const float> logits, std::span<const float> targets) const {
    double most = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const bool is_there = predicts(logits, i);
      if (is_there != (targets[i] > 0.5f)) {
        most = std::max(most, sigmoid(is_there ? logits[i] : -logits[i]));
      }
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
  LabelThresholds thresholds_;
  MultiLabelMetrics metrics_;
  RankedClasses ranked_;
  std::vector<ThresholdCounts> curves_;
  WorstMistakes mistakes_;
  std::vector<int64_t> kept_;
  std::vector<float> kept_logits_, kept_targets_;  // [rows, labels]
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

std::unique_ptr<Evaluator> make_class_evaluator(const ResultInputs& of) {
  return std::make_unique<ClassEvaluator>(of.data, of.labels, of.rules.correlates_classes);
}

std::unique_ptr<Evaluator> make_number_evaluator(const ResultInputs& of) {
  return std::make_unique<NumberEvaluator>(of.data);
}

std::unique_ptr<Evaluator> make_vector_evaluator(const ResultInputs& of) {
  return std::make_unique<VectorEvaluator>(of.data);
}

std::unique_ptr<Evaluator> make_set_evaluator(const ResultInputs& of) {
  return std::make_unique<SetEvaluator>(of.data, of.labels, of.rules.thresholds);
}

std::unique_ptr<Evaluator> make_entity_evaluator(const ResultInputs& of) {
  return std::make_unique<EntityEvaluator>(of.data, of.labels);
}

std::unique_ptr<Evaluator> make_answer_evaluator(const ResultInputs& of) {
  return std::make_unique<AnswerEvaluator>(of.data, of.rules.answers);
}

std::unique_ptr<Evaluator> make_evaluator(Dataset& data, const Labels& labels,
                                          const PredictionRules& rules) {
  return results_of(data.task()).evaluator({data, labels, rules});
}

namespace {

// The accuracy is the share of masked tokens whose id the model predicts. The perplexity is
// exp(mean loss). Both are over tokens with the weights of their rows, as the loss is.
class MaskedEvaluator final : public Evaluator {
 public:
  explicit MaskedEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    const Features& features = data_.features(index);
    const PackedBatch::MaskedTokens masked = masked_in_evaluation(data_, index, features);
    const auto weight = static_cast<double>(features.weight);
    for (size_t m = 0; m < masked.ids.size(); ++m) {
      loss_ += weight * static_cast<double>(logits[2 * m]);
      right_ += logits[2 * m + 1] == static_cast<float>(masked.ids[m]) ? weight : 0;
      weight_ += weight;
    }
  }

  TaskScores finish() override {
    const double weight = weight_ > 0 ? weight_ : 1;
    return {.metrics = {{"masked_accuracy", right_ / weight},
                        {"perplexity", std::exp(loss_ / weight)}}};
  }

 private:
  Dataset& data_;
  double loss_ = 0, right_ = 0, weight_ = 0;
};

}  // namespace

PackedBatch::MaskedTokens masked_in_evaluation(const Dataset& data, int64_t index,
                                               const Features& features) {
  std::vector<int32_t> input_ids = features.input_ids;
  PackedBatch::MaskedTokens masked;
  for (size_t i = 0; i < features.masked.size(); i += 2) {
    masked.tokens.push_back(features.masked[i]);
    masked.ids.push_back(features.masked[i + 1]);
  }
  if (data.masking() == nullptr) return masked;
  data.masking()->mask(MaskingRound::of_evaluation(), static_cast<uint64_t>(index), input_ids, 0,
                       masked);
  return masked;
}

std::unique_ptr<Evaluator> make_masked_evaluator(const ResultInputs& of) {
  return std::make_unique<MaskedEvaluator>(of.data);
}

namespace {

// What run_pretraining.py of google-research/bert and google-research/albert report. One accuracy
// is the share of masked tokens whose id the model predicts. The other is the share of pairs of
// which it says rightly whether the second text follows the first one. Beside them are the mean
// losses of both. The metrics of pairs are NAME_accuracy and NAME_loss.
class TextPairEvaluator final : public Evaluator {
 public:
  TextPairEvaluator(Dataset& data, const char* name) : data_(data), name_(name) {}

  void add(int64_t index, std::span<const float> logits) override {
    const Features& features = data_.features(index);
    const auto truth = static_cast<size_t>(features.classes.at(0));
    const std::array<double, 2> next = {static_cast<double>(logits[0]),
                                        static_cast<double>(logits[1])};
    const double margin = next[1 - truth] - next[truth];  // of the wrong class
    pair_loss_ += std::max(margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
    pair_right_ += (truth == 0 ? next[0] >= next[1] : next[1] > next[0]) ? 1 : 0;
    ++pairs_;
    const PackedBatch::MaskedTokens masked = masked_in_evaluation(data_, index, features);
    for (size_t m = 0; m < masked.ids.size(); ++m) {
      const float* const row = &logits[2 * (m + 1)];
      masked_loss_ += static_cast<double>(row[0]);
      masked_right_ += row[1] == static_cast<float>(masked.ids[m]) ? 1 : 0;
    }
    masked_ += static_cast<int64_t>(masked.ids.size());
  }

  TaskScores finish() override {
    const auto mean = [](auto sum, int64_t of) {
      return of > 0 ? static_cast<double>(sum) / static_cast<double>(of) : 0;
    };
    TaskScores scores;
    scores.metrics = {{"masked_lm_accuracy", mean(masked_right_, masked_)},
                      {"masked_lm_loss", mean(masked_loss_, masked_)},
                      {name_ + "_accuracy", mean(pair_right_, pairs_)},
                      {name_ + "_loss", mean(pair_loss_, pairs_)}};
    return scores;
  }

 private:
  Dataset& data_;
  const std::string name_;
  double masked_loss_ = 0, pair_loss_ = 0;
  int64_t masked_ = 0, masked_right_ = 0, pairs_ = 0, pair_right_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_next_sentence_evaluator(const ResultInputs& of) {
  return std::make_unique<TextPairEvaluator>(of.data, "next_sentence");
}

std::unique_ptr<Evaluator> make_sentence_order_evaluator(const ResultInputs& of) {
  return std::make_unique<TextPairEvaluator>(of.data, "sentence_order");
}

namespace {

// What run_pretraining.py of google-research/electra reports: for the discriminator, the mean loss,
// the accuracy over all tokens, and precision, recall and area under the ROC curve for the replaced
// ones. For the generator, the accuracy on masked tokens and exp(mean loss). A token is predicted
// to be replaced if its logit is positive. All metrics use the weights of the rows, as the loss
// does.
class ReplacedEvaluator final : public Evaluator {
 public:
  explicit ReplacedEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    const Features& features = data_.features(index);
    const auto weight = static_cast<double>(features.weight);
    const size_t tokens = features.input_ids.size();
    for (size_t t = 0; t < tokens; ++t) add_token(logits.subspan(4 * t, 4), weight);
    const PackedBatch::MaskedTokens masked = masked_in_evaluation(data_, index, features);
    for (size_t m = 0; m < masked.ids.size(); ++m) {
      const float* const row = &logits[4 * static_cast<size_t>(masked.tokens[m])];
      generator_loss_ += weight * static_cast<double>(row[2]);
      predicted_ += row[3] == static_cast<float>(masked.ids[m]) ? weight : 0;
      masked_ += weight;
    }
  }

  TaskScores finish() override {
    const auto share = [](double part, double of) { return of > 0 ? part / of : 0; };
    TaskScores scores;
    scores.metrics = {{"disc_accuracy", share(right_, tokens_)},
                      {"disc_auc", area_.area()},
                      {"disc_precision", share(found_, suspected_)},
                      {"disc_recall", share(found_, replaced_)},
                      {"disc_loss", share(loss_, tokens_)},
                      {"masked_accuracy", share(predicted_, masked_)},
                      {"perplexity", std::exp(share(generator_loss_, masked_))}};
    scores.majority_rate = share(std::max(replaced_, tokens_ - replaced_), tokens_);
    return scores;
  }

 private:
  void add_token(std::span<const float> row, double weight) {
    const auto logit = static_cast<double>(row[0]);
    const bool is_replaced = row[1] > 0, is_suspected = logit > 0;
    loss_ += weight * (std::max(logit, 0.0) - (is_replaced ? logit : 0) +
                       std::log1p(std::exp(-std::abs(logit))));
    area_.add(row[0], is_replaced, weight);
    tokens_ += weight;
    right_ += is_replaced == is_suspected ? weight : 0;
    replaced_ += is_replaced ? weight : 0;
    suspected_ += is_suspected ? weight : 0;
    found_ += is_replaced && is_suspected ? weight : 0;
  }

  Dataset& data_;
  RocArea area_;
  double tokens_ = 0, right_ = 0, replaced_ = 0, suspected_ = 0, found_ = 0, loss_ = 0;
  double masked_ = 0, predicted_ = 0, generator_loss_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_replaced_evaluator(const ResultInputs& of) {
  return std::make_unique<ReplacedEvaluator>(of.data);
}

namespace {

// As EmbeddingSimilarityEvaluator of sentence-transformers, with its names. Shorter embeddings have
// metrics of their own, as spearman_cosine_dim_256.
class SimilarityEvaluator final : public Evaluator {
 public:
  SimilarityEvaluator(Dataset& data, const std::vector<int64_t>& shorter_sizes)
      : data_(data), sizes_(shorter_sizes), metrics_(1 + shorter_sizes.size()) {}

  void add(int64_t index, std::span<const float> logits) override {
    const auto target = static_cast<double>(data_.features(index).targets.at(0));
    for (size_t i = 0; i < std::min(metrics_.size(), logits.size()); ++i) {
      metrics_[i].add(static_cast<double>(logits[i]), target);
    }
    columns_ = logits.size();
  }
  TaskScores finish() override {
    TaskScores scores;
    for (size_t i = 0; i < std::min(metrics_.size(), std::max<size_t>(1, columns_)); ++i) {
      const std::string behind = i == 0 ? "" : cat("_dim_", sizes_[i - 1]);
      scores.metrics["pearson_cosine" + behind] = metrics_[i].pearson();
      scores.metrics["spearman_cosine" + behind] = metrics_[i].spearman();
    }
    return scores;
  }

 private:
  Dataset& data_;
  const std::vector<int64_t> sizes_;
  std::vector<RegressionMetrics> metrics_;  // of whole embeddings, and of each shorter size
  size_t columns_ = 0;                      // of the logits
};

class PartnerEvaluator final : public Evaluator {
 public:
  void add(int64_t, std::span<const float> logits) override {
    found_ += logits[1] > 0 ? 1 : 0;
    ++examples_;
  }
  TaskScores finish() override {
    const double share =
        examples_ > 0 ? static_cast<double>(found_) / static_cast<double>(examples_) : 0;
    return {.metrics = {{"accuracy_at_1", share}}};
  }

 private:
  int64_t found_ = 0, examples_ = 0;
};

}  // namespace

std::unique_ptr<Evaluator> make_similarity_evaluator(const ResultInputs& of) {
  return std::make_unique<SimilarityEvaluator>(of.data, of.rules.shorter_sizes);
}

std::unique_ptr<Evaluator> make_partner_evaluator(const ResultInputs&) {
  return std::make_unique<PartnerEvaluator>();
}

}  // namespace berth
