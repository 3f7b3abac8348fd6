#include "entrypoint/flags/mode_flags.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Names = std::initializer_list<std::string_view>;

bool is_among(std::string_view name, Names names) {
  return std::ranges::find(names, name) != names.end();
}

const Flag& mode_flag() { return *std::ranges::find(flag_table(), "mode", &Flag::name); }

bool trains(Mode mode) { return mode == Mode::kTrain || mode == Mode::kTrainAndEval; }

bool training_uses(Mode mode, const Flag& flag) {
  const bool is_of_evaluations =
      is_among(flag.name, {"eval-data-file", "eval-steps", "num-eval-per-epoch", "eval-batch-size",
                           "metric-for-best-model"});
  if (mode == Mode::kTrain && is_of_evaluations) return false;
  if (flag.group == FlagGroup::kTools)
    return is_among(flag.name, {"export-format", "export-dtype"});
  return !is_among(flag.name, {"predict-data-file", "embeddings-format"});
}

// For eval, predict and embed, which run a finished model.
bool inference_uses(const CommandLine& command_line, const Flag& flag) {
  const Settings& settings = command_line.settings;
  const Mode mode = settings.mode;
  switch (flag.group) {
    case FlagGroup::kData:
      if (flag.name == "predict-data-file") return mode != Mode::kEval;
      if (flag.name == "weight-column") return mode == Mode::kEval;
      if (flag.name == "eval-data-file") {
        const bool tells_cost = settings.precision == Precision::kInt8 && mode == Mode::kPredict;
        return mode == Mode::kEval || tells_cost || !settings.data.input_meta_data_path.empty();
      }
      return !is_among(
          flag.name, {"train-data-file", "validation-split", "data-fraction", "max-train-samples"});
    case FlagGroup::kModel:
      if (flag.name == "embeddings-format") return mode == Mode::kEmbed;
      return !is_among(flag.name, {"teacher", "distillation-target", "distillation-weight",
                                   "distillation-temperature", "init"});
    case FlagGroup::kTraining:
      return is_among(flag.name, {"batch-size", "gradient-accumulation-steps", "token-budget"});
    case FlagGroup::kSaving:
      return is_among(flag.name, {"mode", "eval-batch-size"});
    case FlagGroup::kOutput:
      return is_among(flag.name, {"job-dir", "log-format", "log-level", "predictions-file",
                                  "predictions-with-text", "predictions-safe-for-spreadsheets"});
    case FlagGroup::kOptimization:
    case FlagGroup::kTools:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string unused_flags(const CommandLine& command_line) {
  const Mode mode = command_line.settings.mode;
  const bool infers = mode == Mode::kEval || mode == Mode::kPredict || mode == Mode::kEmbed;
  if (!trains(mode) && !infers) return "";
  std::string names;
  for (const Flag& flag : flag_table()) {
    if (!command_line.gives(flag.name)) continue;
    if (trains(mode) ? training_uses(mode, flag) : inference_uses(command_line, flag)) continue;
    names += cat(names.empty() ? "" : ", ", "--", flag.name);
  }
  if (names.empty()) return "";
  return cat("--mode ", mode_flag().value.get(command_line), " does not use ", names);
}

std::string mode_of_word(std::string_view word) {
  if (word.starts_with('-')) return "";
  CommandLine named;
  try {
    mode_flag().value.set(named, word);
  } catch (const Error&) {
    return "";
  }
  return mode_flag().value.get(named);
}

}  // namespace berth
