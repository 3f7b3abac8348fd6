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

constexpr std::string_view kOrganization = "sentence-transformers/";
// Encoders of transformers whose names have no organization.
constexpr std::string_view kPlainModels[] = {
    "albert-base-v1",
    "albert-base-v2",
    "albert-large-v1",
    "albert-large-v2",
    "albert-xlarge-v1",
    "albert-xlarge-v2",
    "albert-xxlarge-v1",
    "albert-xxlarge-v2",
    "bert-base-cased",
    "bert-base-cased-finetuned-mrpc",
    "bert-base-chinese",
    "bert-base-german-cased",
    "bert-base-german-dbmdz-cased",
    "bert-base-german-dbmdz-uncased",
    "bert-base-multilingual-cased",
    "bert-base-multilingual-uncased",
    "bert-base-uncased",
    "bert-large-cased",
    "bert-large-cased-whole-word-masking",
    "bert-large-cased-whole-word-masking-finetuned-squad",
    "bert-large-uncased",
    "bert-large-uncased-whole-word-masking",
    "bert-large-uncased-whole-word-masking-finetuned-squad",
    "camembert-base",
    "distilbert-base-cased",
    "distilbert-base-cased-distilled-squad",
    "distilbert-base-german-cased",
    "distilbert-base-multilingual-cased",
    "distilbert-base-uncased",
    "distilbert-base-uncased-distilled-squad",
    "distilbert-base-uncased-finetuned-sst-2-english",
    "distilroberta-base",
    "roberta-base",
    "roberta-large",
    "roberta-large-mnli",
    "xlm-roberta-base",
    "xlm-roberta-large",
};
// Organizations whose encoders come without files of sentence-transformers and take 512 tokens.
constexpr std::string_view kPlainOrganizations[] = {
    "google-bert/", "FacebookAI/", "distilbert/", "albert/", "microsoft/mpnet-base", "nreimers/"};

bool is_plain(const std::string& model) {
  return std::ranges::find(kPlainModels, lower_ascii(model)) != std::end(kPlainModels) ||
         std::ranges::any_of(kPlainOrganizations, [&](std::string_view beginning) {
           return model.starts_with(beginning);
         });
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
    if (value.is_known()) return launch.add_flag(flag, text);
    launch.refuse(name, cat("is computed in the program; add --", own, " to the line"));
  };
  if (name == "epochs") return take("num_train_epochs", "epochs N");
  if (name == "warmup_steps") return take("warmup_steps", "warmup-steps N");
  if (name == "evaluation_steps") return take("eval_steps", "eval-steps N");
  if (name == "weight_decay") return take("weight_decay", "weight-decay X");
  if (name == "use_amp") return take("fp16", "precision NAME");
  if (name == "output_path") {
    return launch.add_flag("output_dir", value.is_known() ? text : "model");
  }
  if (std::ranges::find(kHarmless, name) != std::end(kHarmless) || is_default(name, value)) return;
  if (name == "save_best_model") return;  // of the models that an evaluator finds
  const std::string line = cat(" (line ", fit.line, ")");
  if (name == "optimizer_params") {
    return launch.refuse(name + line, "is not read; add --learning-rate X to the line");
  }
  if (name == "evaluator") {
    return launch.refuse(name + line,
                         "scores rows of its own; add --eval-data-file FILE to the line");
  }
  if (name == "scheduler") {
    return launch.refuse(name + line, "is another one; add --lr-scheduler-type NAME");
  }
  if (name == "steps_per_epoch") {
    return launch.refuse(name + line, "ends an epoch early; add --max-steps N to the line");
  }
  if (name == "max_grad_norm") return take("max_grad_norm", "max-grad-norm X");
  launch.refuse(name + line, "is an argument of fit() that berth does not know");
}

}  // namespace

void read_fit(const PythonProgram& program, const PythonCall& fit, Launch& launch) {
  for (const auto& [name, value] : fit.keywords) take_argument(fit, name, value, launch);
  if (fit.find("output_path") == nullptr) launch.add_flag("output_dir", "model");
  if (fit.find("warmup_steps") == nullptr) launch.add_flag("warmup_steps", "10000");
  if (fit.find("evaluator") == nullptr) launch.add_flag("do_train", "true");  // on all rows
  const auto loader = std::ranges::find_if(
      program.calls, [](const PythonCall& call) { return last_name(call.name) == "DataLoader"; });
  const PythonValue* batch = loader == program.calls.end() ? nullptr : loader->find("batch_size");
  if (batch == nullptr || batch->kind != PythonValue::Kind::kWord) {
    launch.refuse("batch_size", "is computed in the program; add --batch-size N to the line");
  } else {
    launch.add_flag("train_batch_size", batch->text);
  }
}

std::string sentence_model(const std::string& name) {
  const bool is_alone = name.find_first_of("/\\$~") == std::string::npos && !name.starts_with('.');
  return is_alone && !is_plain(name) ? cat(kOrganization, name) : name;
}

void take_sentence_length(const std::string& model, Launch& launch) {
  if (is_plain(model)) return launch.add_flag("max_seq_length", "512");
  if (model.starts_with(kOrganization)) {
    return launch.remark("the length of texts",
                         "is max_seq_length in the model's files, which berth takes without a "
                         "flag");
  }
  launch.refuse("the length of texts",
                "is max_seq_length in the files of a model of sentence-transformers, else its "
                "tokenizer's length; add --max-seq-length N to the line");
}

void read_similarity_loss(const PythonProgram& program, Launch& launch) {
  launch.add_flag("task", "similarity");
  std::string loss;
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (!name.ends_with("Loss")) continue;
    const auto known = std::ranges::find(kLosses, name, &Loss::name);
    if (known == std::end(kLosses)) {
      return launch.refuse(std::string(name),
                           "is a loss that berth does not have: --similarity-loss is cosine or "
                           "in_batch_negatives");
    }
    loss = known->text;
    for (const auto& [argument, value] : call.keywords) {
      if (argument == "model" || is_default(argument, value)) continue;
      launch.refuse(
          cat(argument, " (line ", call.line, ")"),
          cat("changes ", name,
              ", which berth computes from the cosine, and in-batch negatives with a scale of 20"));
    }
  }
  if (!loss.empty()) launch.add_flag("similarity_loss", loss);
}

}  // namespace berth
