#include "trainer/metrics/regression.h"
#include "trainer/tasks/result_kinds.h"

namespace berth {
namespace {

// As EmbeddingSimilarityEvaluator of sentence-transformers, with its names.
class SimilarityEvaluator final : public Evaluator {
 public:
  explicit SimilarityEvaluator(Dataset& data) : data_(data) {}

  void add(int64_t index, std::span<const float> logits) override {
    metrics_.add(static_cast<double>(logits[0]),
                 static_cast<double>(data_.features(index).targets.at(0)));
  }
  TaskScores finish() override {
    return {.metrics = {{"pearson_cosine", metrics_.pearson()},
                        {"spearman_cosine", metrics_.spearman()}}};
  }

 private:
  Dataset& data_;
  RegressionMetrics metrics_;
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

std::unique_ptr<Evaluator> make_similarity_evaluator(Dataset& data, const Labels&,
                                                     const AnswerOptions&) {
  return std::make_unique<SimilarityEvaluator>(data);
}

std::unique_ptr<Evaluator> make_partner_evaluator(Dataset&, const Labels&, const AnswerOptions&) {
  return std::make_unique<PartnerEvaluator>();
}

}  // namespace berth
