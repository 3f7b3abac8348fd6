#include <string>

#include "storage/base/text.h"
#include "trainer/metrics/metrics.h"
#include "trainer/tasks/result_kinds.h"

namespace berth {
namespace {

// The share of rows whose right choice has the largest logit. Of equal ones the first one counts,
// as in run_swag.py.
class ChoiceEvaluator final : public Evaluator {
 public:
  explicit ChoiceEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    const int64_t truth = data_.features(index).classes.at(0), prediction = argmax(logits);
    ++rows_;
    right_ += prediction == truth;
    const double probability = softmax(logits)[static_cast<size_t>(prediction)];
    calibration_.add(probability, prediction == truth);
    if (prediction == truth || !mistakes_.wants(probability)) return;
    mistakes_.add(probability, index, std::to_string(truth), std::to_string(prediction));
  }

  TaskScores finish() override {
    const double accuracy =
        rows_ == 0 ? 0 : static_cast<double>(right_) / static_cast<double>(rows_);
    return {.metrics = {{"accuracy", accuracy}},
            .details = {.mistakes = mistakes_.with_texts(data_), .calibration = calibration_}};
  }

 private:
  Dataset& data_;
  int64_t rows_ = 0, right_ = 0;
  Calibration calibration_;
  WorstMistakes mistakes_;
};

}  // namespace

std::unique_ptr<Evaluator> make_choice_evaluator(const ResultInputs& of) {
  return std::make_unique<ChoiceEvaluator>(of.data);
}

std::unique_ptr<PredictionLines> make_choice_lines(const ResultInputs& of) {
  Labels numbers;
  const size_t texts = of.data.size() == 0 ? 0 : of.data.example(0).texts.size();
  for (size_t i = 0; i + 1 < texts; ++i) numbers.push_back(std::to_string(i));
  return make_class_lines({of.data, numbers, of.rules});
}

}  // namespace berth
