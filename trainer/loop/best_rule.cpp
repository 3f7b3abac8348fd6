#include "trainer/loop/best_rule.h"

#include <cmath>

#include "trainer/tasks/metric_names.h"

namespace berth {

BestRule::BestRule(const TrainingOptions& options, const std::vector<std::string>& metrics)
    : metric_(
          options.metric_for_best_model.empty()
              ? metrics.front()
              : checked_metric(options.metric_for_best_model, metrics, "--metric-for-best-model")),
      patience_(options.early_stopping_patience) {}

std::optional<Best> BestRule::better(const EvaluationResult& evaluation, int64_t step,
                                     const std::optional<Best>& before) const {
  const bool is_error = is_error_metric(metric_);
  const double value =
      metric_ == kLossName ? evaluation.loss : evaluation.scores.metrics.at(metric_);
  if (!std::isfinite(value)) return std::nullopt;
  if (before && !(is_error ? value < before->value : value > before->value)) return std::nullopt;
  return Best{.step = step, .metric = metric_, .value = value};
}

bool BestRule::gives_up(int64_t evaluations) const {
  return patience_ > 0 && evaluations >= patience_;
}

}  // namespace berth
