#include "trainer/loop/best_rule.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr const char* kLoss = "loss";

// Hugging Face's Trainer says eval_accuracy, too.
std::string metric_of(const std::string& name, const std::vector<std::string>& metrics) {
  if (name.empty()) return metrics.front();
  const std::string metric = name.starts_with("eval_") ? name.substr(5) : name;
  const bool is_known = std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
  if (metric == kLoss || is_known) return metric;
  std::string known = kLoss;
  for (const std::string& known_name : metrics) known += ", " + known_name;
  throw Error(Code::kUsage, cat(quoted(name), " is no metric of this task; there are ", known),
              "--metric-for-best-model");
}

}  // namespace

BestRule::BestRule(const TrainingOptions& options, const std::vector<std::string>& metrics,
                   int64_t steps_between)
    : metric_(metric_of(options.metric_for_best_model, metrics)),
      patience_steps_(options.early_stopping_patience * steps_between) {}

std::optional<Best> BestRule::better(const EvaluationResult& evaluation, int64_t step,
                                     const std::optional<Best>& before) const {
  const bool is_loss = metric_ == kLoss, is_error = is_loss || metric_ == "mse";
  const double value = is_loss ? evaluation.loss : evaluation.scores.metrics.at(metric_);
  if (before && !(is_error ? value < before->value : value > before->value)) return std::nullopt;
  return Best{.step = step, .metric = metric_, .value = value};
}

bool BestRule::gives_up(int64_t step, const std::optional<Best>& best) const {
  return patience_steps_ > 0 && best && step - best->step >= patience_steps_;
}

}  // namespace berth
