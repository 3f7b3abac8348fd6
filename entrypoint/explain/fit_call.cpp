#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "entrypoint/explain/program_parts.h"
#include "entrypoint/explain/shell_text.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Arguments of fit() that change no update.
constexpr std::string_view kHarmless =
    "train_objectives show_progress_bar callback checkpoint_path checkpoint_save_steps "
    "checkpoint_save_total_limit";

// Whether the argument has the default of fit(), which is berth's, too.
bool is_default_of_fit(std::string_view name, const PythonValue& value) {
  const std::string& text = value.text;
  if (name == "scheduler") return lower_ascii(text) == "warmuplinear";
  if (name == "max_grad_norm") return text == "1" || text == "1.0";
  return (name == "steps_per_epoch" || name == "evaluator") && text == "None";
}

void take_fit_argument(const PythonCall& fit, const std::string& name, const PythonValue& value,
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
  if (is_one_of(kHarmless, name) || is_default_of_fit(name, value)) return;
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

// A program that fits several times, or whose batches are chosen, trains in a way of its own.
void check_fits(const PythonProgram& program, Launch& launch) {
  constexpr std::string_view kSamplers =
      "SentenceLabelDataset DenoisingAutoEncoderDataset ParallelSentencesDataset";
  size_t fits = 0;
  for (const PythonCall& call : program.calls) {
    const std::string_view name = last_name(call.name);
    if (name == "fit" && call.find("train_objectives") != nullptr) ++fits;
    if (name == "NoDuplicatesDataLoader") {
      launch.refuse(cat(name, " (line ", call.line, ")"),
                    "keeps equal texts apart in a way of its own; --batch-sampler no_duplicates "
                    "does it as BatchSamplers.NO_DUPLICATES of later versions");
    }
    if (!is_one_of(kSamplers, name)) continue;
    launch.refuse(cat(name, " (line ", call.line, ")"),
                  "chooses the rows of a batch or makes texts of them, which berth does not do");
  }
  if (fits <= 1) return;
  launch.refuse("fit", "is called several times; write each training into a file of its own");
}

// [(loader, loss)]: one pair, in the call.
void check_objectives(const PythonProgram& program, const PythonCall& fit, Launch& launch) {
  const auto given = std::ranges::find(fit.keywords, "train_objectives",
                                       &std::pair<std::string, PythonValue>::first);
  const PythonSpan span = fit.spans[static_cast<size_t>(given - fit.keywords.begin())];
  size_t depth = 0, pairs = 0;
  for (size_t i = span.begin; i < span.end; ++i) {
    const PythonToken& token = program.tokens[i];
    const bool opens = token.is_sign('(') || token.is_sign('[');
    if (opens && depth++ == 1) ++pairs;
    if (token.is_sign(')') || token.is_sign(']')) --depth;
  }
  if (pairs == 1) return;
  launch.refuse(cat("train_objectives (line ", fit.line, ")"),
                pairs == 0 ? "are not written in the call of fit(); write the loader and the loss "
                             "there"
                           : "are several, which versions of the library mix in their own ways; "
                             "write the program with SentenceTransformerTrainer");
}

void check_loader(const PythonCall& loader, Launch& launch) {
  const PythonValue *shuffle = loader.find("shuffle"), *drop = loader.find("drop_last");
  if (drop != nullptr && drop->text == "True") launch.add_flag("drop_remainder", "true");
  if (shuffle != nullptr && shuffle->text == "True") return;
  launch.refuse(cat("DataLoader (line ", loader.line, ")"),
                "keeps the rows in their order, and berth shuffles them; give it shuffle=True");
}

}  // namespace

void read_fit(const PythonProgram& program, const PythonCall& fit, Launch& launch) {
  for (const auto& [name, value] : fit.keywords) take_fit_argument(fit, name, value, launch);
  if (fit.find("output_path") == nullptr) launch.add_flag("output_dir", "model");
  if (fit.find("warmup_steps") == nullptr) launch.add_flag("warmup_steps", "10000");
  if (fit.find("evaluator") == nullptr) launch.add_flag("do_train", "true");  // on all rows
  check_fits(program, launch);
  check_objectives(program, fit, launch);
  const auto loader = std::ranges::find_if(
      program.calls, [](const PythonCall& call) { return last_name(call.name) == "DataLoader"; });
  if (loader != program.calls.end()) check_loader(*loader, launch);
  const PythonValue* batch = loader == program.calls.end() ? nullptr : loader->find("batch_size");
  if (batch == nullptr || batch->kind != PythonValue::Kind::kWord) {
    launch.refuse("batch_size", "is computed in the program; add --batch-size N to the line");
  } else {
    launch.add_flag("train_batch_size", batch->text);
  }
}

}  // namespace berth
