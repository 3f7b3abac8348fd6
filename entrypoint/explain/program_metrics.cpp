#include <algorithm>
#include <string>
#include <vector>

#include "entrypoint/explain/named_inputs.h"
#include "entrypoint/explain/program_names.h"
#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
#include "entrypoint/flags/foreign/translation.h"
#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

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

constexpr size_t kMostHelpers = 20;

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
    spans_ = {span->second};
    for (size_t i = 0; i < spans_.size() && spans_.size() < kMostHelpers; ++i)
      note_helpers(spans_[i]);
    check_best(span->second);
    if (task_ == "token_classification") return read_tags(span->second);
    if (task_ == kOfSets) check_threshold();
    for (const PythonCall& call : program_.calls) {
      if (call.name.starts_with(kDefinition)) continue;
      const bool is_inside = std::ranges::any_of(spans_, [&](const PythonSpan& part) {
        return call.arguments.begin >= part.begin && call.arguments.end <= part.end;
      });
      const std::string_view name = last_name(call.name);
      const bool loads = name == "load_metric" || call.name == "evaluate.load" ||
                         (call.name == "load" && !call.positional.empty());
      if (loads && !call.positional.empty()) {
        check_task(call);
        see_loaded(call, call.positional[0].text);
      } else if (call.name == "evaluate.combine" && !call.positional.empty()) {
        for (const PythonValue& item : call.positional[0].items) see_loaded(call, item.text);
      } else if (is_inside) {
        see_function(call, name);
      }
    }
    if (task_ == kOfClasses &&
        (takes_others() || std::ranges::any_of(spans_, [&](PythonSpan s) { return chooses(s); }))) {
      return refuse("compute_metrics", "chooses classes in another way than by the largest score");
    }
    if (task_ == kOfClasses && !takes_largest()) {
      return refuse("compute_metrics",
                    "does not show that it chooses classes by the largest score");
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

  // The functions that count, and the one that gets the outputs before them.
  std::vector<PythonSpan> all_parts() const {
    std::vector<PythonSpan> parts = spans_;
    for (const PythonCall& call : program_.calls) {
      const PythonValue* before = call.find("preprocess_logits_for_metrics");
      const auto span =
          before == nullptr ? program_.spans.end() : program_.spans.find(before->name);
      if (span != program_.spans.end()) parts.push_back(span->second);
    }
    return parts;
  }

  bool takes_others() const {
    return std::ranges::any_of(all_parts(), [&](PythonSpan part) { return takes_other(part); });
  }

  bool takes_largest() const {
    return std::ranges::any_of(all_parts(), [&](const PythonSpan& part) {
      for (size_t i = part.begin; i < part.end; ++i) {
        if (program_.tokens[i].is_name("argmax")) return true;
      }
      return false;
    });
  }

  // Whether the function takes the largest score of something else than a row, or computes with its
  // place: "np.argmax(scores, axis=0)", "1 - scores.argmax(-1)".
  bool takes_other(PythonSpan span) const {
    constexpr std::string_view kModules = "np numpy torch jnp tf";
    const std::string_view axes = task_ == "token_classification" ? "2 -1" : "1 -1";
    for (const PythonCall& call : program_.calls) {
      const bool is_inside = call.arguments.begin > span.begin && call.arguments.end < span.end;
      if (!is_inside || last_name(call.name) != "argmax") continue;
      const PythonValue* axis = call.find("axis");
      if (axis == nullptr) axis = call.find("dim");
      const std::string first = call.name.substr(0, call.name.find('.'));
      const bool is_function = is_one_of(kModules, first) || first == "argmax";
      const size_t place = is_function ? 1 : 0;
      if (axis == nullptr && call.positional.size() > place) axis = &call.positional[place];
      if (axis == nullptr || !is_one_of(axes, axis->text)) return true;
    }
    return computes(span);
  }

  // Whether the function changes scores or classes: "1 - classes", "-scores", "scores[:, ::-1]".
  bool computes(PythonSpan span) const {
    constexpr std::string_view kChanges =
        "logical_not logical_xor bitwise_not bitwise_xor invert negative subtract flip fliplr "
        "flipud roll where argsort argmin abs";
    const std::vector<PythonToken>& tokens = program_.tokens;
    const auto is_number = [&](size_t at) { return tokens[at].kind == PythonToken::Kind::kNumber; };
    for (size_t i = span.begin + 1; i + 1 < span.end; ++i) {
      const PythonToken &token = tokens[i], &before = tokens[i - 1], &next = tokens[i + 1];
      if (token.kind == PythonToken::Kind::kName && is_one_of(kChanges, token.text)) return true;
      if (token.kind != PythonToken::Kind::kSign) continue;
      const bool is_sign = before.kind == PythonToken::Kind::kSign && !closes(before);
      const bool is_negative = token.is_sign('-') && is_number(i + 1) && is_sign;
      if (token.is_sign('-') && !is_negative && !next.is_sign('>')) return true;
      const bool scales = token.is_sign('+') || token.is_sign('*');
      if (scales && (is_number(i - 1) || is_number(i + 1))) return true;
      if (token.is_sign('%') || token.is_sign('~') || token.is_sign('^')) return true;
      if (token.is_sign('/') && next.is_sign('/')) return true;
      if (token.is_sign(':') && next.is_sign(':')) return true;
      const bool is_index = before.is_sign(':') && next.is_sign('[');  // "[:, [1, 0]]", "[:, 1:]"
      const bool is_part = is_number(i + 1) && i + 2 < span.end && tokens[i + 2].is_sign(':');
      if (token.is_sign(',') && (is_index || is_part)) return true;
    }
    return false;
  }

  // Whether the function leaves other tokens out than the tags of -100: "if tag != 0". Whether the
  // outputs are a tuple, and what an option says, is no such condition.
  bool counts_others(PythonSpan span) const {
    const std::vector<PythonToken>& tokens = program_.tokens;
    for (size_t i = span.begin; i + 4 < span.end; ++i) {
      const bool is_arrow = tokens[i].is_sign('>') && tokens[i - 1].is_sign('-');
      if (tokens[i].is_sign('<') || (tokens[i].is_sign('>') && !is_arrow)) return true;
      if (compares(i) && !is_ignored(i + 2)) return true;
      const bool is_condition = tokens[i].is_name("if") || tokens[i].is_name("elif");
      const bool is_option = (tokens[i + 2].is_sign('.') && tokens[i + 4].is_sign(':')) ||
                             tokens[i + 1].is_name("isinstance");
      if (is_condition && !is_option && !keeps_tags(i + 1, span.end)) return true;
    }
    return false;
  }

  bool compares(size_t at) const {
    const PythonToken &first = program_.tokens[at], &next = program_.tokens[at + 1];
    return (first.is_sign('!') || first.is_sign('=')) && next.is_sign('=');
  }

  bool is_ignored(size_t at) const {
    return program_.tokens[at].is_sign('-') && program_.tokens[at + 1].text == "100";
  }

  // Whether the condition at `at` is "tag != -100" or "tags[i] == -100" alone.
  bool keeps_tags(size_t at, size_t end) const {
    constexpr std::string_view kWords = "not and or in is";
    for (; at + 4 < end && !compares(at); ++at) {
      const PythonToken& token = program_.tokens[at];
      const bool is_part = token.is_sign('[') || token.is_sign(']') || token.is_sign('.');
      const bool is_name = token.kind == PythonToken::Kind::kName && !is_one_of(kWords, token.text);
      if (!is_part && !is_name && token.kind != PythonToken::Kind::kNumber) return false;
    }
    if (at + 4 >= end || !is_ignored(at + 2)) return false;
    const PythonToken& next = program_.tokens[at + 4];
    return closes(next) || next.is_sign(':') || next.is_sign(',') || next.is_name("for") ||
           next.is_name("else") || next.kind == PythonToken::Kind::kLineEnd;
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

  // The names of the metrics that a function returns, where it returns mappings of texts alone.
  // Empty: they are computed.
  std::vector<std::string> returned_names(PythonSpan span) const {
    const std::vector<PythonToken>& tokens = program_.tokens;
    std::vector<std::string> names;
    for (size_t i = span.begin; i + 1 < span.end; ++i) {
      if (!tokens[i].is_name("return")) continue;
      const auto entries = find_entries(program_, {i + 1, span.end});
      if (entries.empty()) return {};
      for (const auto& [name, value] : entries) names.push_back(name);
    }
    return names;
  }

  // A program ends where it chooses the best model by a metric that it does not compute.
  void check_best(PythonSpan span) {
    const std::vector<std::string> names = returned_names(span);
    for (const PythonCall& call : program_.calls) {
      const PythonValue* best = call.find("metric_for_best_model");
      if (names.empty() || best == nullptr || best->kind != PythonValue::Kind::kText) continue;
      std::string name = best->text;
      if (name.starts_with("eval_")) name.erase(0, 5);
      if (name == "loss" || is_one_of(names, name)) continue;
      refuse("metric_for_best_model",
             cat("is ", quoted(name), ", which compute_metrics does not return"));
    }
  }

  // The functions of the program that a function calls, and that may count for it.
  void note_helpers(PythonSpan span) {
    for (size_t i = span.begin; i + 1 < span.end; ++i) {
      const auto helper = program_.spans.find(program_.tokens[i].text);
      const bool is_call = program_.tokens[i].kind == PythonToken::Kind::kName &&
                           program_.tokens[i + 1].is_sign('(') && helper != program_.spans.end();
      const bool is_known = is_call && std::ranges::any_of(spans_, [&](const PythonSpan& known) {
                              return known.begin == helper->second.begin;
                            });
      if (is_call && !is_known) spans_.push_back(helper->second);
    }
  }

  // A label holds where its probability is more than 0.5, which is a logit above 0.
  void check_threshold() {
    bool has_probabilities = false, is_clear = true;
    std::vector<std::string> limits;
    for (const PythonSpan& span : spans_) {
      for (size_t i = span.begin; i + 2 < span.end; ++i) {
        const PythonToken& token = program_.tokens[i];
        const std::string& text = token.text;
        if (text.find("igmoid") != text.npos || text == "exp" || text == "expit") {
          has_probabilities = true;
        }
        if (token.is_name("argmax") || token.is_sign('<')) is_clear = false;
        if (token.is_name("round") || token.is_name("rint")) limits.emplace_back("0.5");
        const bool is_arrow = i > 0 && program_.tokens[i - 1].is_sign('-');
        if (!token.is_sign('>') || is_arrow) continue;
        const size_t next = program_.tokens[i + 1].is_sign('=') ? i + 2 : i + 1;
        for (std::string& limit : values_of(program_.tokens[next])) limits.push_back(limit);
      }
    }
    const std::string_view fitting = has_probabilities ? "0.5 .5" : "0 0.0";
    is_clear = is_clear && !limits.empty() &&
               std::ranges::all_of(
                   limits, [&](const std::string& limit) { return is_one_of(fitting, limit); });
    if (!is_clear) refuse("compute_metrics", "chooses labels by another limit than 0.5");
  }

  // The values that a name may have, or the number itself. An unknown one is an empty text.
  std::vector<std::string> values_of(const PythonToken& token) const {
    if (token.kind == PythonToken::Kind::kNumber) return {token.text};
    std::vector<std::string> values;
    for (const PythonCall& call : program_.calls) {
      if (const PythonValue* given = call.find(token.text)) values.push_back(given->text);
    }
    if (const PythonValue* value = program_.assigned(token.text)) values.push_back(value->text);
    if (values.empty()) values.emplace_back();
    return values;
  }

  // Only seqeval scores entities, and its means over all of them have names of their own.
  void read_tags(PythonSpan span) {
    constexpr std::string_view kMeans = "f1 precision recall accuracy";
    for (size_t i = span.begin; i + 2 < span.end; ++i) {
      const PythonToken& key = program_.tokens[i];
      const bool is_mean = key.kind == PythonToken::Kind::kText && is_one_of(kMeans, key.text) &&
                           program_.tokens[i + 1].is_sign(':');
      size_t at = i + 2;
      std::string item;
      while (is_mean && at + 1 < span.end && !program_.tokens[at].is_sign(',') &&
             !program_.tokens[at].is_sign('}')) {
        const bool is_text = program_.tokens[at].kind == PythonToken::Kind::kText;
        if (is_text && program_.tokens[at - 1].is_sign('[') && item.empty()) {
          item = program_.tokens[at].text;
        }
        ++at;
      }
      if (item.empty() || item == cat("overall_", key.text)) continue;
      refuse(cat(key.text, " (line ", key.line, ")"),
             cat("is the score of ", quoted(item), ", and not of all entities"));
    }
    if (takes_others() ||
        std::ranges::any_of(spans_, [&](PythonSpan s) { return counts_others(s); })) {
      refuse("compute_metrics", "chooses tags in another way than by the largest score of a token");
    }
    const bool is_seqeval = std::ranges::any_of(program_.tokens, [](const PythonToken& token) {
      return (token.kind == PythonToken::Kind::kName || token.kind == PythonToken::Kind::kText) &&
             token.text == "seqeval";
    });
    if (!is_seqeval) refuse("compute_metrics", "scores tags in another way than seqeval");
    for (const PythonCall& call : program_.calls) {
      const PythonValue* average = call.find("average");
      const bool is_score = last_name(call.name).ends_with("_score") || call.name == "compute";
      const bool is_other = average != nullptr && average->text != "micro";
      if (is_score && is_other) {
        refuse(cat("average=", average->text, " (line ", call.line, ")"),
               "is a mean over kinds of entities, and not over all entities");
      }
      const PythonValue *mode = call.find("mode"), *suffix = call.find("suffix");
      if (suffix != nullptr && suffix->text != "False") {
        refuse(cat(last_name(call.name), " (line ", call.line, ")"),
               "reads the kind of an entity before the place in it");
      }
      if (mode == nullptr || mode->text != "strict") continue;
      refuse(cat(last_name(call.name), " (line ", call.line, ")"),
             "counts only entities that begin and end as a scheme says");
    }
  }

  // load("glue", "cola") has the metric of CoLA.
  void check_task(const PythonCall& call) {
    if (call.positional.size() < 2 || call.positional[0].text != "glue") return;
    const TypedCommand typed(launch_.flags);
    const GlueTask* scored = find_glue_task(call.positional[1].text);
    const GlueTask* learned = find_glue_task(typed.value("dataset_config_name").value_or(""));
    if (scored == nullptr || learned == nullptr || scored->metric == learned->metric) return;
    refuse(cat(last_name(call.name), " (line ", call.line, ")"), "has the metric of another task");
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
    for (const auto& [keyword, value] : call.keywords) {
      const bool changes = (keyword == "pos_label" && value.text != "1") ||
                           (keyword == "normalize" && value.text != "True") ||
                           ((keyword == "labels" || keyword == "sample_weight") &&
                            value.text != "None" && task_ == kOfClasses);
      if (changes) refuse(cat(keyword, " (line ", call.line, ")"), "scores other classes or rows");
    }
    const PythonValue* average = call.find("average");
    if (average == nullptr || average->text == "None" || average->text == "binary") return;
    const bool is_f1 = name == "f1_score" || name == "f1";
    const bool is_macro = average->text == "macro";
    if (is_macro && name.starts_with("roc_auc")) return;
    if (is_f1 && is_macro && has_two_classes()) {
      return refuse(cat("average=macro (line ", call.line, ")"),
                    "is the mean of the F1 of two classes");
    }
    if (is_f1 && (is_macro || (average->text == "micro" && task_ == kOfSets))) {
      mean_f1_ = is_macro ? "f1_macro" : "f1_micro";
      return;
    }
    refuse(
        cat("average=", average->text.empty() ? "..." : average->text, " (line ", call.line, ")"),
        cat("is a mean over classes that berth does not report",
            name.empty() ? "" : cat(" for ", name)));
  }

  // Whether the rows have two labels, or the model two outputs.
  bool has_two_classes() const {
    const TypedCommand typed(launch_.flags);
    const size_t known = label_count(typed.value("dataset_name").value_or(""),
                                     typed.value("dataset_config_name").value_or(""),
                                     typed.value("label-column").value_or("label"));
    if (task_ != kOfClasses || known > 0) return known == 2;
    const PythonValue* count = nullptr;
    for (const PythonCall& call : program_.calls) {
      if (const PythonValue* given = call.find("num_labels")) count = given;
    }
    if (count != nullptr) return count->text == "2";
    // A new model has two outputs, unless an argument says otherwise.
    return std::ranges::any_of(program_.calls, [](const PythonCall& call) {
      const bool is_model = call.name.ends_with("ForSequenceClassification.from_pretrained");
      return is_model && call.find("config") == nullptr && call.find("id2label") == nullptr &&
             call.find("label2id") == nullptr && call.spans.size() == call.keywords.size() &&
             is_plain_model(call.positional.empty() ? "" : call.positional[0].text);
    });
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
  std::vector<PythonSpan> spans_;  // of the function, and of functions that it calls
  std::string loaded_, mean_f1_;
  bool has_metric_ = false;
};

}  // namespace

void check_metrics(const PythonProgram& program, std::string_view task, Launch& launch) {
  MetricReader(program, task, launch).read();
}

}  // namespace berth
