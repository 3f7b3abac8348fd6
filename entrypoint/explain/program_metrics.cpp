#include <algorithm>
#include <array>
#include <string>

#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// A metric of `evaluate`, or a function of scikit-learn, by the tasks whose metrics have it.
struct KnownMetric {
  std::string_view name, tasks;  // parted by commas
};
constexpr std::string_view kOfClasses = "sequence_classification";
constexpr std::string_view kOfSets = "multi_label";
constexpr std::string_view kOfClassesAndSets = "sequence_classification,multi_label";
constexpr std::string_view kOfNumbers = "regression";

constexpr KnownMetric kKnownMetrics[] = {
    {"accuracy", kOfClassesAndSets},
    {"accuracy_score", kOfClassesAndSets},
    {"f1", kOfClassesAndSets},
    {"f1_score", kOfClassesAndSets},
    {"precision", kOfClasses},
    {"precision_score", kOfClasses},
    {"recall", kOfClasses},
    {"recall_score", kOfClasses},
    {"precision_recall_fscore_support", kOfClassesAndSets},
    {"matthews_correlation", kOfClasses},
    {"matthews_corrcoef", kOfClasses},
    {"roc_auc", kOfClassesAndSets},
    {"roc_auc_score", kOfClassesAndSets},
    {"average_precision_score", kOfClassesAndSets},
    {"glue", "sequence_classification,regression"},
    {"mse", kOfNumbers},
    {"mean_squared_error", kOfNumbers},
    {"pearsonr", kOfNumbers},
    {"spearmanr", kOfNumbers},
    {"squad", "question_answering"},
    {"squad_v2", "question_answering"},
};
// Functions of scikit-learn that score, and that berth has no metric for.
constexpr std::string_view kOtherMetrics =
    "balanced_accuracy_score cohen_kappa_score fbeta_score hamming_loss jaccard_score log_loss "
    "r2_score mean_absolute_error top_k_accuracy_score root_mean_squared_error ndcg_score "
    "brier_score_loss";

std::string_view task_metrics(std::string_view task) {
  if (task == "regression") return "pearson, spearman and mse";
  if (task == "multi_label") return "f1_micro, f1_macro, accuracy and roc_auc";
  if (task == "token_classification") return "entity_f1, precision, recall and accuracy";
  if (task == "question_answering") return "f1 and exact_match";
  if (task == "masked_lm") return "masked_accuracy and perplexity";
  return "accuracy, f1 of two classes, f1_macro of more, and the scores of each class";
}

class MetricReader {
 public:
  MetricReader(const PythonProgram& program, std::string_view task, Launch& launch)
      : program_(program), task_(task), launch_(launch) {}

  void read() {
    const PythonCall* trainer = nullptr;
    for (const PythonCall& call : program_.calls) {
      if (call.find("compute_metrics") != nullptr) trainer = &call;
    }
    if (trainer == nullptr) return check_missing();
    const PythonValue& function = *trainer->find("compute_metrics");
    if (function.text == "None") return;
    const auto span = program_.spans.find(std::string(last_name(function.name)));
    if (span == program_.spans.end()) {
      return refuse("compute_metrics", "is a function that the program does not hold");
    }
    if (task_ == "token_classification") return read_tags();
    for (const PythonCall& call : program_.calls) {
      if (call.name.starts_with(kDefinition)) continue;
      const bool is_inside =
          call.arguments.begin >= span->second.begin && call.arguments.end <= span->second.end;
      const std::string_view name = last_name(call.name);
      const bool loads = name == "load_metric" || call.name == "evaluate.load" ||
                         (call.name == "load" && !call.positional.empty());
      if (loads && !call.positional.empty()) {
        see_loaded(call, call.positional[0].text);
      } else if (call.name == "evaluate.combine" && !call.positional.empty()) {
        for (const PythonValue& item : call.positional[0].items) see_loaded(call, item.text);
      } else if (is_inside) {
        see_function(call, name);
      }
    }
    if (task_ == kOfClasses && chooses(span->second)) {
      return refuse("compute_metrics", "chooses classes in another way than by the largest score");
    }
    if (!has_metric_) count_by_hand(span->second);
    name_best();
  }

 private:
  // Without a function, an evaluation has its loss alone, and a program that asks for another
  // metric ends there.
  void check_missing() {
    for (const PythonCall& call : program_.calls) {
      const PythonValue* best = call.find("metric_for_best_model");
      if (best == nullptr || best->kind != PythonValue::Kind::kText) continue;
      if (best->text == "loss" || best->text == "eval_loss") continue;
      refuse("metric_for_best_model",
             cat("is ", quoted(best->text), ", and the program computes no metrics"));
    }
  }

  // Whether the function has a threshold or a loop.
  bool chooses(PythonSpan span) const {
    for (size_t i = span.begin; i + 1 < span.end; ++i) {
      const PythonToken& token = program_.tokens[i];
      const bool is_arrow = i > 0 && program_.tokens[i - 1].is_sign('-') && token.is_sign('>');
      if ((token.is_sign('>') && !is_arrow) || token.is_sign('<')) return true;
      if (token.is_name("for") || token.is_name("while")) return true;
    }
    return false;
  }

  void refuse(const std::string& word, std::string_view what) {
    launch_.refuse(word,
                   cat(what, "; berth reports ", task_metrics(task_),
                       ". Where these will do, add --metric-for-best-model NAME to the line"));
  }

  // Only seqeval scores entities.
  void read_tags() {
    const bool is_seqeval = std::ranges::any_of(program_.tokens, [](const PythonToken& token) {
      return (token.kind == PythonToken::Kind::kName || token.kind == PythonToken::Kind::kText) &&
             token.text == "seqeval";
    });
    if (!is_seqeval) refuse("compute_metrics", "scores tags in another way than seqeval");
    for (const PythonCall& call : program_.calls) {
      const PythonValue* mode = call.find("mode");
      if (mode == nullptr || mode->text != "strict") continue;
      refuse(cat(last_name(call.name), " (line ", call.line, ")"),
             "counts only entities that begin and end as a scheme says");
    }
  }

  void see_loaded(const PythonCall& call, const std::string& name) {
    loaded_ += (loaded_.empty() ? "" : ",") + name;
    see(call, name);
  }

  // The name that berth has for the program's own "f1", by which it chooses the best model.
  void name_best() {
    if (mean_f1_.empty()) return;
    const bool is_best = std::ranges::any_of(program_.calls, [](const PythonCall& call) {
      const PythonValue* best = call.find("metric_for_best_model");
      return best != nullptr && best->text.find("f1") != std::string::npos;
    });
    if (is_best) launch_.add_flag("metric_for_best_model", mean_f1_);
  }

  void see_function(const PythonCall& call, std::string_view name) {
    const bool is_other = is_one_of(kOtherMetrics, name);
    const auto* const row = std::ranges::find(kKnownMetrics, name, &KnownMetric::name);
    if (is_other || row != std::end(kKnownMetrics)) return see(call, name);
    const bool is_f1 = loaded_ == "f1" || call.name.find("f1") != std::string::npos;
    if (name == "compute" || name == "add_batch") see_average(call, is_f1 ? "f1" : "");
  }

  void see(const PythonCall& call, std::string_view name) {
    has_metric_ = true;
    const auto* const row = std::ranges::find(kKnownMetrics, name, &KnownMetric::name);
    const bool is_known =
        row != std::end(kKnownMetrics) && is_one_of(parted(row->tasks, ","), task_);
    if (!is_known) {
      return refuse(cat(name.empty() ? "a metric" : name, " (line ", call.line, ")"),
                    "is a metric that berth does not report for this task");
    }
    see_average(call, name);
  }

  // berth has the mean over classes for F1, and over the sets of several labels.
  void see_average(const PythonCall& call, std::string_view name) {
    const PythonValue* average = call.find("average");
    if (average == nullptr || average->text == "None" || average->text == "binary") return;
    const bool is_f1 = name == "f1_score" || name == "f1";
    const bool is_macro = average->text == "macro";
    if (is_macro && name.starts_with("roc_auc")) return;
    if (is_f1 && (is_macro || (average->text == "micro" && task_ == kOfSets))) {
      mean_f1_ = is_macro ? "f1_macro" : "f1_micro";
      return;
    }
    refuse(
        cat("average=", average->text.empty() ? "..." : average->text, " (line ", call.line, ")"),
        "is a mean over classes that berth does not report");
  }

  // The share of equal labels, which programs also count themselves.
  void count_by_hand(PythonSpan span) {
    bool compares = false, averages = false;
    std::string names;
    for (size_t i = span.begin; i + 1 < span.end; ++i) {
      const PythonToken& token = program_.tokens[i];
      if (token.is_sign('=') && program_.tokens[i + 1].is_sign('=')) compares = true;
      if (token.is_name("mean") || token.is_name("sum")) averages = true;
      const bool is_key =
          token.kind == PythonToken::Kind::kText && program_.tokens[i + 1].is_sign(':');
      if (is_key) names += (names.empty() ? "" : ",") + token.text;
    }
    const bool is_accuracy = compares && averages && (names == "accuracy" || names == "acc");
    const bool fits = task_ == kOfClasses || task_ == "masked_lm";
    if (is_accuracy && fits) return;
    refuse("compute_metrics", "computes metrics that berth does not know");
  }

  const PythonProgram& program_;
  const std::string_view task_;
  Launch& launch_;
  std::string loaded_, mean_f1_;
  bool has_metric_ = false;
};

}  // namespace

void check_metrics(const PythonProgram& program, std::string_view task, Launch& launch) {
  MetricReader(program, task, launch).read();
}

}  // namespace berth
