#include "trainer/tasks/task_results.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/metrics/reranking.h"
#include "trainer/tasks/result_kinds.h"

namespace berth {

std::vector<std::string> metric_names(Task task, int64_t num_classes) {
  const TaskResults& row = results_of(task);
  return row.metrics_of != nullptr ? row.metrics_of(num_classes) : parted(row.metrics, ", ");
}

bool is_error_metric(std::string_view metric) {
  return metric == "mse" || metric == "perplexity" || metric.ends_with(kLossName);
}

std::string checked_metric(const std::string& name, const std::vector<std::string>& metrics,
                           const std::string& flag) {
  const std::string metric = name.starts_with("eval_") ? name.substr(5) : name;
  const bool is_known = std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
  if (metric == kLossName || is_known) return metric;
  std::string known = kLossName;
  for (const std::string& known_name : metrics) known += ", " + known_name;
  throw Error(Code::kUsage,
              cat(quoted(name), " is not a metric of this task; its metrics are ", known), flag);
}

namespace {

using Names = std::vector<std::string>;

Names with_ranked(Names names, int64_t num_classes) {
  if (num_classes > static_cast<int64_t>(RankedClasses::kMost)) return names;
  names.insert(names.end(), {"roc_auc", "average_precision"});
  return names;
}

Names class_metrics(int64_t num_classes) {
  Names names = {"accuracy", "f1_macro"};
  if (num_classes == 2) names = {"accuracy", "f1", "precision", "recall", "matthews_correlation"};
  if (num_classes > kTopClasses) names.push_back("top_5_accuracy");
  return with_ranked(std::move(names), num_classes);
}

Names set_metrics(int64_t num_labels) {
  return with_ranked({"f1_micro", "f1_macro", "accuracy"}, num_labels);
}

constexpr TaskResults kTable[] = {
    {.task = Task::kSequenceClassification,
     .metrics_of = class_metrics,
     .evaluator = make_class_evaluator,
     .lines = make_class_lines,
     .test_results = make_class_test_results},
    {.task = Task::kRegression,
     .metrics = "pearson, spearman, mse",
     .evaluator = make_number_evaluator,
     .lines = make_number_lines,
     .test_results = make_number_test_results},
    {.task = Task::kMultiLabel,
     .metrics_of = set_metrics,
     .evaluator = make_set_evaluator,
     .lines = make_set_lines},
    {.task = Task::kTokenClassification,
     .metrics = "entity_f1, precision, recall, accuracy",
     .evaluator = make_entity_evaluator,
     .lines = make_word_lines},
    {.task = Task::kQuestionAnswering,
     .metrics = "f1, exact_match",
     .evaluator = make_answer_evaluator,
     .lines = make_answer_lines},
    {.task = Task::kMaskedLm,
     .metrics = "masked_accuracy, perplexity",
     .evaluator = make_masked_evaluator,
     .lines = nullptr},
    {.task = Task::kReplacedTokenDetection,
     .metrics = "disc_accuracy, disc_auc, disc_precision, disc_recall, disc_loss, masked_accuracy, "
                "perplexity",
     .evaluator = make_replaced_evaluator,
     .lines = nullptr},
    {.task = Task::kNextSentence,
     .metrics = "masked_lm_accuracy, masked_lm_loss, next_sentence_accuracy, next_sentence_loss",
     .evaluator = make_next_sentence_evaluator,
     .lines = nullptr},
    {.task = Task::kSentenceOrder,
     .metrics = "masked_lm_accuracy, masked_lm_loss, sentence_order_accuracy, sentence_order_loss",
     .evaluator = make_sentence_order_evaluator,
     .lines = nullptr},
    {.task = Task::kEmbeddingDistillation,
     .metrics = "cosine_similarity",
     .evaluator = make_vector_evaluator,
     .lines = nullptr},
    {.task = Task::kHiddenStateDistillation,
     .metrics = "cosine_similarity",
     .evaluator = make_vector_evaluator,
     .lines = nullptr},
    {.task = Task::kSimilarity,
     .metrics = "spearman_cosine, pearson_cosine",
     .evaluator = make_similarity_evaluator,
     .lines = make_number_lines},
    {.task = Task::kInBatchNegatives,
     .metrics = "accuracy_at_1",
     .evaluator = make_partner_evaluator,
     .lines = make_number_lines},
    {.task = Task::kReranking,
     .metrics_of = [](int64_t) { return RerankingMetrics::names(); },
     .evaluator = make_reranking_evaluator,
     .lines = make_reranking_lines},
    {.task = Task::kListReranking,
     .metrics_of = [](int64_t) { return RerankingMetrics::names(); },
     .evaluator = make_reranking_evaluator,
     .lines = make_reranking_lines},
    {.task = Task::kMultipleChoice,
     .metrics = "accuracy",
     .evaluator = make_choice_evaluator,
     .lines = make_choice_lines},
};

}  // namespace

const TaskResults& results_of(Task task) {
  const auto* found = std::ranges::find(kTable, task, &TaskResults::task);
  if (found != std::end(kTable)) return *found;
  throw Error(Code::kInternal, cat("the task ", task_name(task), " has no row of results"));
}

}  // namespace berth
