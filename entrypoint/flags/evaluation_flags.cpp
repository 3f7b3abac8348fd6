#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"

namespace berth {
namespace {

FlagValue mode_value() {
  std::vector<std::pair<const char*, Mode>> modes;
  for (const ModeTraits& row : mode_table()) modes.emplace_back(row.name.data(), row.mode);
  FlagValue value = choice_value<Mode>(place(&CommandLine::settings, &Settings::mode), modes);
  value.hint = "MODE";
  return value;
}

// Whether a job holds out some of its training rows for evaluation. --mode train holds out none and
// would then train on other rows.
bool holds_rows_out(const Settings& settings) {
  const DataOptions& data = settings.data;
  return data.eval_data_file.empty() && data.data_dir.empty() && data.validation_split > 0;
}

// Whether the job's evaluations decide when it ends or which weights are its result.
bool heeds_evaluations(const Settings& settings) {
  const TrainingOptions& training = settings.training;
  return training.early_stopping_patience > 0 || training.load_best_model_at_end;
}

// "auto", or a number of minutes.
FlagValue save_minutes() {
  const auto at = training_option(&TrainingOptions::save_minutes);
  return {"auto|X", false,
          [at](CommandLine& line, std::string_view value) {
            at(line).reset();
            if (lower_ascii(value) == "auto") return;
            at(line) = parse_real(value, {0, 1e6, true, true, "auto or a number of minutes"});
          },
          [at](const CommandLine& line) {
            const std::optional<double> minutes = at(line);
            return minutes ? real_text(*minutes) : "auto";
          }};
}

}  // namespace

std::vector<Flag> evaluation_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {"mode",
       {},
       kSaving,
       "What to do: train, train_and_eval, eval, predict, embed, export_only, prepare, tokenize, "
       "inspect, convert, train_tokenizer, heartbeat, bench, fetch or report. eval, predict and "
       "embed use "
       "the finished model of --job-dir, or --model. embed writes a vector for each text of "
       "--predict-data-file. export_only "
       "writes the best checkpoint of --job-dir, or --model, to --export-dir. prepare writes the "
       "rows that training would read as TFRecords; with --task mlm it cleans text for "
       "pre-training. train_tokenizer learns a vocabulary from the texts of --train-data-file. "
       "tokenize, inspect and convert run no model. heartbeat says whether the training of "
       "--job-dir is alive, as a liveness probe of Kubernetes asks. bench prints how "
       "fast this machine trains and predicts with BERT-base and BERT-large, in about two minutes. "
       "fetch copies files, folders and archives from where berth can read to "
       "--export-dir, and unpacks the archives. report compares the jobs in "
       "several directories on one page. The mode may also stand before all flags: berth predict "
       "is berth --mode predict.",
       mode_value(),
       FlagRole(kFree, kEverywhere).decides_where(holds_rows_out)},
      {"eval-steps",
       {},
       kSaving,
       "Evaluate after every N updates. 0 means that --num-eval-per-epoch decides.",
       integer_value(training_option(&TrainingOptions::eval_steps), {0, kAnyCount}),
       FlagRole(kFree, kInTrainAndEval).decides_where(heeds_evaluations)},
      {"num-eval-per-epoch",
       {},
       kSaving,
       "How often to evaluate in an epoch; the last evaluation is at its end.",
       integer_value(training_option(&TrainingOptions::num_eval_per_epoch), {1, 1'000'000}),
       {kDecides, kInTrainAndEval}},
      {"eval-batch-size",
       {},
       kSaving,
       "How many examples to evaluate at once.",
       integer_value(training_option(&TrainingOptions::eval_batch_size), {0, 1'000'000}),
       {kFree, kInTrainAndEval | kInInference, kAsBatched},
       "as many as in a micro-batch"},
      {"save-steps",
       {"save-checkpoints-steps"},
       kSaving,
       "Save a checkpoint after every N updates. 0 means only at the end.",
       integer_value(training_option(&TrainingOptions::save_steps), {0, kAnyCount}),
       {kFree, kInTraining}},
      {"save-minutes",
       {},
       kSaving,
       "Also save a checkpoint after X minutes without one. 0 means that the time does not matter. "
       "auto takes 5 to 30 minutes, so that saving costs at most 1 % of the time (more if one save "
       "takes over 18 seconds). The next checkpoint replaces one that auto saved.",
       save_minutes(),
       {kFree, kInTraining},
       "0 with --save-steps, else auto"},
      {"grace-seconds",
       {},
       kSaving,
       "The seconds between the platform's SIGTERM and SIGKILL. If the last checkpoint took longer "
       "than the remaining seconds, a stopped job writes no other one, and says so. A job that is "
       "still saving a second before SIGKILL ends without that "
       "checkpoint. 0 means that the time is not known.",
       integer_value(training_option(&TrainingOptions::grace_s), {0, 1'000'000}),
       {kFree, kInTraining}},
      {"step-timeout",
       {},
       kSaving,
       "End with exit code 12, after printing what each thread does, when an update, or a part of "
       "an evaluation, takes N seconds. 0 waits for ever.",
       integer_value(training_option(&TrainingOptions::step_timeout_s), {0, 1'000'000}),
       {kFree, kInTraining}},
      {"save-total-limit",
       {},
       kSaving,
       "How many of the newest checkpoints to keep, besides the best one. If the disk is full, all "
       "but one make room. 0 keeps all, also on a full disk.",
       integer_value(training_option(&TrainingOptions::save_total_limit), {0, kAnyCount}),
       {kFree, kInTraining}},
      {"metric-for-best-model",
       {},
       kSaving,
       "The metric that decides which evaluation is the best: loss, or a metric of the task.",
       text_value("NAME", training_option(&TrainingOptions::metric_for_best_model)),
       {kDecides, kInTrainAndEval},
       "the task's main metric"},
      {"hypertune-metric",
       {},
       kSaving,
       "The metric to report to hyperparameter tuning after each evaluation. It is written to the "
       "file CLOUD_ML_HP_METRIC_FILE, or to /tmp/hypertune/output.metrics.",
       text_value("NAME", output_option(&OutputOptions::hypertune_metric)),
       {kFree, kInTraining},
       "CLOUD_ML_HP_METRIC_TAG if it names one, else --metric-for-best-model"},
      {"early-stopping-patience",
       {},
       kSaving,
       "Stop after this many evaluations in a row that are no improvement. 0 means never.",
       integer_value(training_option(&TrainingOptions::early_stopping_patience), {0, kAnyCount}),
       {kDecides, kInTraining}},
      {"load-best-model-at-end",
       {},
       kSaving,
       "Export the model of the best checkpoint, not of the last one.",
       switch_value(training_option(&TrainingOptions::load_best_model_at_end)),
       {kDecides, kInTraining}},
  };
}

}  // namespace berth
