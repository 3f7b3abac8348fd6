#include "entrypoint/explain/python_similarity.h"

#include <algorithm>

#include "storage/base/text.h"

namespace berth {
namespace {

struct Loss {
  std::string_view name, text;
};

constexpr Loss kLosses[] = {
    {"MultipleNegativesRankingLoss", "in_batch_negatives"},
    {"CosineSimilarityLoss", "cosine"},
};

// Arguments of fit() that change no update.
constexpr std::string_view kHarmless[] = {
    "train_objectives", "show_progress_bar",     "callback",
    "checkpoint_path",  "checkpoint_save_steps", "checkpoint_save_total_limit"};

void add(Launch& launch, std::string_view flag, std::string_view value) {
  launch.flags.push_back(cat("--", flag, "=", value));
}

void refuse(Launch& launch, std::string word, std::string text) {
  launch.remarks.push_back({std::move(word), std::move(text), true});
}

// Whether the argument has the default of fit() or of a loss, which is berth's, too.
bool is_default(std::string_view name, const PythonValue& value) {
  const std::string& text = value.text;
  if (name == "scheduler") return lower_ascii(text) == "warmuplinear";
  if (name == "max_grad_norm") return text == "1" || text == "1.0";
  if (name == "scale") return text == "20" || text == "20.0";
  return (name == "steps_per_epoch" || name == "evaluator") && text == "None";
}

void take_argument(const PythonCall& fit, const std::string& name, const PythonValue& value,
                   Launch& launch) {
  const std::string text = joined(value);
  const auto take = [&](std::string_view flag, std::string_view own) {
    if (value.is_known()) return add(launch, flag, text);
    refuse(launch, name, cat("is computed in the program; add --", own, " to the line"));
  };
  if (name == "epochs") return take("num_train_epochs", "epochs N");
  if (name == "warmup_steps") return take("warmup_steps", "warmup-steps N");
  if (name == "evaluation_steps") return take("eval_steps", "eval-steps N");
  if (name == "weight_decay") return take("weight_decay", "weight-decay X");
  if (name == "use_amp") return take("fp16", "precision NAME");
  if (name == "output_path") {
    return add(launch, "output_dir", value.is_known() ? text : "model");
  }
  if (std::ranges::find(kHarmless, name) != std::end(kHarmless) || is_default(name, value)) return;
  if (name == "save_best_model") return;  // of the models that an evaluator finds
  const std::string line = cat(" (line ", fit.line, ")");
  if (name == "optimizer_params") {
    return refuse(launch, name + line, "is not read; add --learning-rate X to the line");
  }
  if (name == "evaluator") {
    return refuse(launch, name + line,
                  "scores rows of its own; add --eval-data-file FILE to the line");
  }
  if (name == "scheduler") {
    return refuse(launch, name + line, "is another one; add --lr-scheduler-type NAME");
  }
  if (name == "steps_per_epoch") {
    return refuse(launch, name + line, "ends an epoch early; add --max-steps N to the line");
  }
  if (name == "max_grad_norm") return take("max_grad_norm", "max-grad-norm X");
  refuse(launch, name + line, "is an argument of fit() that berth does not know");
}

}  // namespace

void read_fit(const PythonProgram& program, const PythonCall& fit, Launch& launch) {
  for (const auto& [name, value] : fit.keywords) take_argument(fit, name, value, launch);
  if (fit.find("output_path") == nullptr) add(launch, "output_dir", "model");
  if (fit.find("warmup_steps") == nullptr) add(launch, "warmup_steps", "10000");
  if (fit.find("evaluator") == nullptr) add(launch, "do_train", "true");  // on all rows
  const auto loader = std::ranges::find_if(
      program.calls, [](const PythonCall& call) { return last_name(call.name) == "DataLoader"; });
  const PythonValue* batch = loader == program.calls.end() ? nullptr : loader->find("batch_size");
  if (batch == nullptr || batch->kind != PythonValue::Kind::kWord) {
    refuse(launch, "batch_size", "is computed in the program; add --batch-size N to the line");
  } else {
    add(launch, "train_batch_size", batch->text);
  }
}

void read_similarity_loss(const PythonProgram& program, Launch& launch) {
  add(launch, "task", "similarity");
  std::string loss;
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (!name.ends_with("Loss")) continue;
    const auto known = std::ranges::find(kLosses, name, &Loss::name);
    if (known == std::end(kLosses)) {
      return refuse(launch, std::string(name),
                    "is a loss that berth does not have: --similarity-loss is cosine or "
                    "in_batch_negatives");
    }
    loss = known->text;
    for (const auto& [argument, value] : call.keywords) {
      if (argument == "model" || is_default(argument, value)) continue;
      refuse(
          launch, cat(argument, " (line ", call.line, ")"),
          cat("changes ", name,
              ", which berth computes from the cosine, and in-batch negatives with a scale of 20"));
    }
  }
  if (!loss.empty()) add(launch, "similarity_loss", loss);
}

}  // namespace berth
