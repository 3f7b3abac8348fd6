#include "trainer/loop/best_rule.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/metrics/classification.h"

namespace berth {
namespace {

constexpr const char* kLoss = "loss";

// Hugging Face's Trainer says eval_accuracy, too.
std::string metric_of(const std::string& name, int64_t num_labels) {
  const std::string metric = name.starts_with("eval_") ? name.substr(5) : name;
  const auto metrics = ConfusionMatrix(num_labels).metrics();
  if (metric == kLoss || metrics.count(metric) != 0) return metric;
  std::string known = kLoss;
  for (const auto& [known_name, value] : metrics) known += ", " + known_name;
  throw Error(Code::kUsage,
              cat(quoted(name), " is no metric of ", num_labels, " classes; there are ", known),
              "--metric-for-best-model");
}

}  // namespace

BestRule::BestRule(const TrainingOptions& options, int64_t num_labels, int64_t steps_between)
    : metric_(metric_of(options.metric_for_best_model, num_labels)),
      patience_steps_(options.early_stopping_patience * steps_between) {}

std::optional<Best> BestRule::better(const EvaluationResult& evaluation, int64_t step,
                                     const std::optional<Best>& before) const {
  const bool is_loss = metric_ == kLoss;
  const double value = is_loss ? evaluation.loss : evaluation.metrics.at(metric_);
  if (before && !(is_loss ? value < before->value : value > before->value)) return std::nullopt;
  return Best{.step = step, .metric = metric_, .value = value};
}

bool BestRule::gives_up(int64_t step, const std::optional<Best>& best) const {
  return patience_steps_ > 0 && best && step - best->step >= patience_steps_;
}

}  // namespace berth
