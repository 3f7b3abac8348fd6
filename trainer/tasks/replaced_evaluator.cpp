#include <cmath>

#include "trainer/metrics/roc_area.h"
#include "trainer/tasks/result_kinds.h"

namespace berth {
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
    const PackedBatch::MaskedTokens masked =
        masked_in_evaluation(*data_.masking(), index, features);
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

std::unique_ptr<Evaluator> make_replaced_evaluator(Dataset& data, const Labels&,
                                                   const AnswerOptions&) {
  return std::make_unique<ReplacedEvaluator>(data);
}

}  // namespace berth
