#include <cmath>

#include "trainer/tasks/result_kinds.h"

namespace berth {
namespace {

// The accuracy is the share of masked tokens whose id the model predicts. The perplexity is
// exp(mean loss). Both are over tokens with the weights of their rows, as the loss is.
class MaskedEvaluator final : public Evaluator {
 public:
  explicit MaskedEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    const Features& features = data_.features(index);
    const PackedBatch::MaskedTokens masked =
        masked_in_evaluation(*data_.masking(), index, features);
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

PackedBatch::MaskedTokens masked_in_evaluation(const Masking& masking, int64_t index,
                                               const Features& features) {
  std::vector<int32_t> input_ids = features.input_ids;
  PackedBatch::MaskedTokens masked;
  masking.mask(MaskingRound::of_evaluation(), static_cast<uint64_t>(index), input_ids, 0, masked);
  return masked;
}

std::unique_ptr<Evaluator> make_masked_evaluator(Dataset& data, const Labels&,
                                                 const AnswerOptions&) {
  return std::make_unique<MaskedEvaluator>(data);
}

}  // namespace berth
