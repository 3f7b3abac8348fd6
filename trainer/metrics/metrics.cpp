#include "trainer/metrics/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>

#include "storage/base/text.h"
#include "storage/base/utf8.h"
#include "trainer/metrics/python_text.h"

namespace berth {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

}  // namespace

int64_t argmax(std::span<const float> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

std::vector<double> softmax(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> probabilities;
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp(logit - largest));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

ConfusionMatrix::ConfusionMatrix(int64_t num_classes)
    : classes_(static_cast<size_t>(num_classes)) {}

void ConfusionMatrix::add(std::span<const float> logits, int32_t label) {
  const int64_t prediction = argmax(logits);
  ++counts_[{label, prediction}];
  ++classes_[static_cast<size_t>(label)].support;
  ++classes_[static_cast<size_t>(prediction)].predicted;
  classes_[static_cast<size_t>(label)].true_positives += label == prediction;
  ++examples_;
}

int64_t ConfusionMatrix::count(int64_t truth, int64_t prediction) const {
  const auto found = counts_.find({truth, prediction});
  return found != counts_.end() ? found->second : 0;
}

int64_t ConfusionMatrix::correct() const {
  int64_t correct = 0;
  for (const ClassCounts& counts : classes_) correct += counts.true_positives;
  return correct;
}

std::map<std::string, double> ConfusionMatrix::metrics() const {
  std::map<std::string, double> metrics = {{"accuracy", ratio(correct(), examples_)}};
  if (num_classes() == 2) {
    const ClassCounts& second = of_class(1);
    metrics["precision"] = second.precision();
    metrics["recall"] = second.recall();
    metrics["f1"] = second.f1();
    metrics["matthews_correlation"] = matthews_correlation();
  } else {
    double sum = 0;
    int64_t seen = 0;
    for (const ClassCounts& counts : classes_) {
      if (counts.support + counts.predicted == 0) continue;
      sum += counts.f1();
      ++seen;
    }
    metrics["f1_macro"] = seen == 0 ? 0 : sum / static_cast<double>(seen);
  }
  return metrics;
}

double ConfusionMatrix::matthews_correlation() const {
  const auto all = static_cast<double>(examples_);
  double both = static_cast<double>(correct()) * all, of_truth = all * all,
         of_prediction = all * all;
  for (const ClassCounts& counts : classes_) {
    const auto truth = static_cast<double>(counts.support);
    const auto prediction = static_cast<double>(counts.predicted);
    both -= truth * prediction;
    of_truth -= truth * truth;
    of_prediction -= prediction * prediction;
  }
  const double product = of_truth * of_prediction;
  return product == 0 ? 0 : both / std::sqrt(product);
}

double ConfusionMatrix::majority_rate() const {
  int64_t largest = 0;
  for (const ClassCounts& counts : classes_) largest = std::max(largest, counts.support);
  return ratio(largest, examples_);
}

double sigmoid(float logit) { return 1 / (1 + std::exp(-static_cast<double>(logit))); }

MultiLabelMetrics::MultiLabelMetrics(int64_t num_labels)
    : labels_(static_cast<size_t>(num_labels)) {}

void MultiLabelMetrics::add(std::span<const float> logits, std::span<const float> targets,
                            const LabelThresholds& thresholds) {
  assert(logits.size() == labels_.size() && targets.size() == labels_.size());
  bool right = true;
  for (size_t i = 0; i < labels_.size(); ++i) {
    const bool predicted = is_predicted(logits[i], thresholds.of_label(i));
    const bool truth = targets[i] > 0.5f;
    labels_[i] += {.true_positives = predicted && truth, .predicted = predicted, .support = truth};
    right = right && predicted == truth;
  }
  ++examples_;
  right_ += right;
}

std::map<std::string, double> MultiLabelMetrics::metrics() const {
  ClassCounts together;
  double sum = 0;
  for (const ClassCounts& label : labels_) {
    together += label;
    sum += label.f1();
  }
  return {{"accuracy", ratio(right_, examples_)},
          {"f1_micro", together.f1()},
          {"f1_macro", labels_.empty() ? 0 : sum / static_cast<double>(labels_.size())}};
}

void ThresholdCounts::add(double probability, bool is_of_class) {
  if (!std::isfinite(probability)) return;
  const double place = std::clamp(probability, 0.0, 1.0) * static_cast<double>(kThresholds - 1);
  ++(is_of_class ? of_class_ : others_)[static_cast<size_t>(place)];
}

int64_t ThresholdCounts::examples() const {
  return std::accumulate(of_class_.begin(), of_class_.end(), int64_t{0}) +
         std::accumulate(others_.begin(), others_.end(), int64_t{0});
}

std::array<ClassCounts, ThresholdCounts::kThresholds> ThresholdCounts::at_thresholds() const {
  std::array<ClassCounts, kThresholds> counts{};
  ClassCounts sum{.support = std::accumulate(of_class_.begin(), of_class_.end(), int64_t{0})};
  for (size_t i = kThresholds; i-- > 0;) {
    sum.true_positives += of_class_[i];
    sum.predicted += of_class_[i] + others_[i];
    counts[i] = sum;
  }
  return counts;
}

namespace {

constexpr size_t kSteps = size_t{1} << 16;
constexpr double kFarthest = 16;

size_t step_of(float logit) {
  const double bounded = std::clamp(static_cast<double>(logit), -kFarthest, kFarthest);
  const double place = (bounded + kFarthest) / (2 * kFarthest) * static_cast<double>(kSteps);
  return std::min(kSteps - 1, static_cast<size_t>(place));
}

}  // namespace

RocArea::RocArea() : positive_(kSteps), negative_(kSteps) {}

void RocArea::add(float logit, bool is_positive, double weight) {
  if (std::isnan(logit)) return;  // of a model that diverged
  (is_positive ? positive_ : negative_)[step_of(logit)] += weight;
}

double RocArea::area() const {
  double area = 0, positives = 0, negatives = 0;
  for (size_t step = 0; step < kSteps; ++step) {
    area += positive_[step] * (negatives + negative_[step] / 2);
    positives += positive_[step];
    negatives += negative_[step];
  }
  return positives > 0 && negatives > 0 ? area / (positives * negatives) : 0.5;
}

void RankedScores::add(float score, bool is_of_class) {
  if (std::isnan(score)) return;  // of a model that diverged
  (is_of_class ? positives_ : negatives_).push_back(score);
}

template <typename Visit>
void RankedScores::visit_scores(const Visit& visit) const {
  std::vector<float> positives = positives_, negatives = negatives_;
  std::ranges::sort(positives, std::greater());
  std::ranges::sort(negatives, std::greater());
  size_t p = 0, n = 0;
  while (p < positives.size() || n < negatives.size()) {
    const bool is_positive =
        n == negatives.size() || (p < positives.size() && positives[p] >= negatives[n]);
    const float score = is_positive ? positives[p] : negatives[n];
    const size_t first_p = p, first_n = n;
    while (p < positives.size() && positives[p] == score) ++p;
    while (n < negatives.size() && negatives[n] == score) ++n;
    visit(static_cast<double>(p - first_p), static_cast<double>(n - first_n));
  }
}

double RankedScores::roc_area() const {
  if (!has_both()) return 0.5;
  double area = 0, positives = 0;
  visit_scores([&](double positive, double negative) {
    area += negative * (positives + positive / 2);
    positives += positive;
  });
  return area / (positives * static_cast<double>(negatives_.size()));
}

double RankedScores::average_precision() const {
  double sum = 0, positives = 0, all = 0;
  visit_scores([&](double positive, double negative) {
    positives += positive;
    all += positive + negative;
    sum += positive * positives / all;
  });
  return positives == 0 ? 0 : sum / positives;
}

std::map<std::string, double> RankedClasses::metrics() const {
  if (classes_.empty()) return {};
  double area = 0, precision = 0, count = 0;
  for (const RankedScores& scores : classes_) {
    if (!scores.has_both()) continue;
    area += scores.roc_area();
    precision += scores.average_precision();
    ++count;
  }
  return {{"roc_auc", count == 0 ? kNoNumber : area / count},
          {"average_precision", count == 0 ? kNoNumber : precision / count}};
}

bool is_among_first(std::span<const float> logits, int32_t label, int64_t k) {
  const auto own = static_cast<size_t>(label);
  int64_t before = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool is_behind = logits[i] < logits[own] || (logits[i] == logits[own] && i <= own);
    before += is_behind ? 0 : 1;  // also where the model diverged
  }
  return before < k;
}

void Calibration::add(double probability, bool is_right) {
  if (!std::isfinite(probability)) return;
  const double place = std::clamp(probability, 0.0, 1.0) * static_cast<double>(kBins);
  Bin& bin = bins_[std::min(static_cast<size_t>(place), kBins - 1)];
  ++bin.count;
  bin.right += is_right ? 1 : 0;
  bin.probabilities += probability;
  ++predictions_;
}

double Calibration::error() const {
  if (predictions_ == 0) return 0;
  double error = 0;
  for (const Bin& bin : bins_) {
    error += static_cast<double>(bin.count) * std::abs(bin.confidence() - bin.accuracy());
  }
  return error / static_cast<double>(predictions_);
}

namespace {

bool has_nan(const std::vector<double>& x) {
  return std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); });
}

bool all_alike(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [&](double value) { return value == x[0]; });
}

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.empty()) return 0;
  // Compares the values themselves. If all are equal, their distances from the rounded mean need
  // not be 0.
  if (has_nan(x) || has_nan(y) || all_alike(x) || all_alike(y)) return kNoNumber;
  const double mean_x = mean(x), mean_y = mean(y);
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

// Ranks from 1; equal values share the mean of their ranks. No value may be NaN.
std::vector<double> ranks(const std::vector<double>& x) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] < x[b]; });
  std::vector<double> ranks(x.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && x[order[end]] == x[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

}  // namespace

void RegressionMetrics::add(double prediction, double truth) {
  predictions_.push_back(prediction);
  truths_.push_back(truth);
}

double RegressionMetrics::mse() const {
  double sum = 0;
  for (size_t i = 0; i < truths_.size(); ++i) {
    sum += (predictions_[i] - truths_[i]) * (predictions_[i] - truths_[i]);
  }
  return truths_.empty() ? 0 : sum / static_cast<double>(truths_.size());
}

double RegressionMetrics::pearson() const { return correlation(predictions_, truths_); }

double RegressionMetrics::spearman() const {
  if (has_nan(predictions_) || has_nan(truths_)) return kNoNumber;
  return correlation(ranks(predictions_), ranks(truths_));
}

std::map<std::string, double> RegressionMetrics::metrics() const {
  return {{"mse", mse()}, {"pearson", pearson()}, {"spearman", spearman()}};
}

void SimilarityMetrics::add(std::span<const float> prediction, std::span<const float> truth) {
  assert(prediction.size() == truth.size());
  double product = 0, of_prediction = 0, of_truth = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const auto a = static_cast<double>(prediction[i]), b = static_cast<double>(truth[i]);
    product += a * b;
    of_prediction += a * a;
    of_truth += b * b;
  }
  const double lengths = std::sqrt(of_prediction * of_truth);
  if (lengths > 0) cosines_ += product / lengths;
  ++examples_;
}

std::map<std::string, double> SimilarityMetrics::metrics() const {
  const double mean = examples_ > 0 ? cosines_ / static_cast<double>(examples_) : 0;
  return {{"cosine_similarity", mean}};
}

namespace {

constexpr char kNone = '?';  // stands for a missing prefix

struct Tag {
  char prefix = 'O';
  std::string_view type = "_";
};

Tag parse(std::string_view tag) {
  constexpr std::string_view kAlone = "BIESO";
  if (tag.empty() || tag == ".") return {};  // no entity, as in seqeval and conlleval
  if (tag.size() == 1 && kAlone.find(tag[0]) != std::string_view::npos) return {.prefix = tag[0]};
  if (tag.size() > 1 && tag[1] == '-') {
    return {.prefix = tag[0], .type = tag.size() > 2 ? tag.substr(2) : std::string_view("_")};
  }
  return {.prefix = kNone, .type = tag};
}

bool begins_by_prefix(char before, char now) {
  if (now == 'B' || now == 'S') return true;
  const bool is_free = before == 'E' || before == 'S' || before == 'O';
  return is_free && (now == 'E' || now == 'I');
}

bool ends_by_prefix(char before, char now) {
  if (before == 'E' || before == 'S') return true;
  return (before == 'B' || before == 'I') && (now == 'B' || now == 'S' || now == 'O');
}

}  // namespace

std::vector<Entity> entities_of(std::span<const std::string> tags) {
  std::vector<Entity> entities;
  Tag before;
  size_t begin = 0;
  for (size_t i = 0; i <= tags.size(); ++i) {
    const Tag now = i < tags.size() ? parse(tags[i]) : Tag{};
    const bool differs = before.type != now.type;
    if (ends_by_prefix(before.prefix, now.prefix) || (differs && before.prefix != 'O')) {
      entities.push_back({.type = std::string(before.type), .first = begin, .last = i - 1});
    }
    if (begins_by_prefix(before.prefix, now.prefix) || (differs && now.prefix != 'O')) begin = i;
    before = now;
  }
  return entities;
}

void EntityMetrics::add(std::span<const std::string> truths,
                        std::span<const std::string> predictions) {
  assert(truths.size() == predictions.size());
  words_ += static_cast<int64_t>(truths.size());
  for (size_t i = 0; i < truths.size(); ++i) right_ += truths[i] == predictions[i];

  const std::vector<Entity> there = entities_of(truths), said = entities_of(predictions);
  for (const Entity& entity : there) ++types_[entity.type].support;
  for (const Entity& entity : said) {
    ClassCounts& counts = types_[entity.type];
    ++counts.predicted;
    counts.true_positives += std::find(there.begin(), there.end(), entity) != there.end();
  }
}

std::map<std::string, double> EntityMetrics::metrics() const {
  ClassCounts together;
  for (const auto& [type, counts] : types_) together += counts;
  return {{"accuracy", ratio(right_, words_)},
          {"precision", together.precision()},
          {"recall", together.recall()},
          {"entity_f1", together.f1()}};
}

namespace {

bool is_ascii_punctuation(char32_t c) {
  return c > ' ' && c < 0x7F && !is_alphanumeric(c);  // string.punctuation
}

bool is_article(std::u32string_view word) {
  return word == U"a" || word == U"an" || word == U"the";
}

std::u32string without_punctuation(std::u32string_view text) {
  std::u32string kept;
  for (const char32_t c : text) {
    if (!is_ascii_punctuation(c)) kept += c;
  }
  return kept;
}

// An article is a whole run of letters and digits. Other characters may stand next to it.
std::u32string without_articles(std::u32string_view text) {
  std::u32string kept;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    const bool in_word = is_alphanumeric(text[begin]);
    while (end < text.size() && is_alphanumeric(text[end]) == in_word) ++end;
    const std::u32string_view run = text.substr(begin, end - begin);
    if (is_article(run)) {
      kept += U' ';
    } else {
      kept += run;
    }
  }
  return kept;
}

double f1_of_words(std::vector<std::string> said, std::vector<std::string> gold) {
  if (said.empty() || gold.empty()) return said.empty() && gold.empty() ? 1 : 0;
  std::sort(said.begin(), said.end());
  std::sort(gold.begin(), gold.end());
  std::vector<std::string> shared;
  std::set_intersection(said.begin(), said.end(), gold.begin(), gold.end(),
                        std::back_inserter(shared));
  return 2 * static_cast<double>(shared.size()) / static_cast<double>(said.size() + gold.size());
}

}  // namespace

std::vector<std::string> answer_words(std::string_view text) {
  const std::u32string kept = without_articles(without_punctuation(lowered(code_points(text))));
  std::vector<std::string> words;
  for (size_t begin = 0, end = 0; begin < kept.size(); begin = end) {
    const bool between = is_space(kept[begin]);
    while (end < kept.size() && is_space(kept[end]) == between) ++end;
    if (!between) words.push_back(to_utf8(std::u32string_view(kept).substr(begin, end - begin)));
  }
  return words;
}

std::string normalized_answer(std::string_view text) { return joined(answer_words(text), " "); }

double answer_f1(std::string_view prediction, std::string_view gold) {
  return f1_of_words(answer_words(prediction), answer_words(gold));
}

void AnswerMetrics::add(std::string_view prediction, std::span<const std::string> gold_answers) {
  const std::vector<std::string> words = answer_words(prediction);
  bool is_answerable = false;
  double exact = 0, f1 = 0;
  for (const std::string& gold : gold_answers) {
    const std::vector<std::string> wanted = answer_words(gold);
    if (wanted.empty()) continue;
    is_answerable = true;
    if (words == wanted) exact = 1;
    f1 = std::max(f1, f1_of_words(words, wanted));
  }
  if (!is_answerable) exact = f1 = words.empty() ? 1 : 0;
  ++questions_;
  exact_sum_ += exact;
  f1_sum_ += f1;
}

std::map<std::string, double> AnswerMetrics::metrics() const {
  const double questions = questions_ == 0 ? 1 : static_cast<double>(questions_);
  return {{"exact_match", exact_sum_ / questions}, {"f1", f1_sum_ / questions}};
}

}  // namespace berth
