#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

auto training(auto member) { return place(&CommandLine::settings, &Settings::training, member); }
auto output(auto member) { return place(&CommandLine::settings, &Settings::output, member); }

FlagValue mode_value() {
  FlagValue value = choice_value<Mode>(place(&CommandLine::settings, &Settings::mode),
                                       {{"train", Mode::kTrain},
                                        {"train_and_eval", Mode::kTrainAndEval},
                                        {"eval", Mode::kEval},
                                        {"predict", Mode::kPredict},
                                        {"export_only", Mode::kExportOnly},
                                        {"prepare", Mode::kPrepare},
                                        {"tokenize", Mode::kTokenize},
                                        {"inspect", Mode::kInspect},
                                        {"convert", Mode::kConvert}});
  value.hint = "MODE";
  return value;
}

}  // namespace

std::vector<Flag> evaluation_flags() {
  using enum FlagGroup;
  return {
      {"mode",
       {},
       kSaving,
       "What to do: train, train_and_eval, eval, predict, export_only, prepare, tokenize, inspect "
       "or convert. eval and predict read the finished model of --job-dir, or --model; export_only "
       "writes the best checkpoint of --job-dir, or --model, to --export-dir; prepare makes "
       "TFRecords of what training would read; the last three only look at files.",
       mode_value()},
      {"eval-steps",
       {},
       kSaving,
       "Updates between evaluations; 0 leaves it to --num-eval-per-epoch.",
       integer_value(training(&TrainingOptions::eval_steps), {0, kAnyCount})},
      {"num-eval-per-epoch",
       {},
       kSaving,
       "Evaluations in each epoch, the last at its end.",
       integer_value(training(&TrainingOptions::num_eval_per_epoch), {1, 1'000'000})},
      {"eval-batch-size",
       {},
       kSaving,
       "Examples evaluated at once.",
       integer_value(training(&TrainingOptions::eval_batch_size), {0, 1'000'000}),
       "as many as in a micro-batch"},
      {"save-steps",
       {"save-checkpoints-steps"},
       kSaving,
       "Updates between checkpoints; 0 means only at the end.",
       integer_value(training(&TrainingOptions::save_steps), {0, kAnyCount})},
      {"save-total-limit",
       {},
       kSaving,
       "Checkpoints to keep, the newest and the best; 0 keeps all.",
       integer_value(training(&TrainingOptions::save_total_limit), {0, kAnyCount})},
      {"metric-for-best-model",
       {},
       kSaving,
       "What tells the best evaluation: loss, or a metric of the task.",
       text_value("NAME", training(&TrainingOptions::metric_for_best_model)),
       "the task's main metric"},
      {"hypertune-metric",
       {},
       kSaving,
       "The metric that hyperparameter tuning is told of, after each evaluation, by the file "
       "CLOUD_ML_HP_METRIC_FILE or /tmp/hypertune/output.metrics.",
       text_value("NAME", output(&OutputOptions::hypertune_metric)),
       "CLOUD_ML_HP_METRIC_TAG if it names one, else --metric-for-best-model"},
      {"early-stopping-patience",
       {},
       kSaving,
       "Stop after so many evaluations without a better one; 0 means never.",
       integer_value(training(&TrainingOptions::early_stopping_patience), {0, kAnyCount})},
      {"load-best-model-at-end",
       {},
       kSaving,
       "Export the best checkpoint's model, not the last one's.",
       switch_value(training(&TrainingOptions::load_best_model_at_end))},
  };
}

}  // namespace berth
