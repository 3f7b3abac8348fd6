#include "entrypoint/flags/flag_table.h"

#include <array>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr RealRange kEpochs{0, 1e6, false, true, "a number above 0, at most 1000000"};
constexpr RealRange kSeconds{0, 1e6, false, true, "a number of seconds above 0"};

auto data(auto member) { return place(&CommandLine::settings, &Settings::data, member); }
auto model(auto member) { return place(&CommandLine::settings, &Settings::model, member); }
auto training(auto member) { return place(&CommandLine::settings, &Settings::training, member); }
auto output(auto member) { return place(&CommandLine::settings, &Settings::output, member); }
auto storage(auto... members) { return place(&CommandLine::storage, members...); }

FlagValue precision_value() {
  FlagValue value = choice_value<Precision>(
      place(&CommandLine::settings, &Settings::precision),
      {{"auto", Precision::kAuto}, {"fp32", Precision::kFp32}, {"bf16", Precision::kBf16}});
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    const std::string word = lower_ascii(given);
    if (word == "float32") return set(line, "fp32");
    if (word == "bfloat16") return set(line, "bf16");
    if (word != "fp16" && word != "float16") return set(line, given);
    line.notes.push_back("fp16 is for GPUs: with --precision auto this CPU takes bf16 if it can");
    set(line, "auto");
  };
  return value;
}

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

// One row a flag: name, aliases, group, help, value, default in words.
std::vector<Flag> make_table() {
  using enum FlagGroup;
  const auto top = [](auto member) { return place(&CommandLine::settings, member); };
  const auto line = [](auto member) { return place(member); };
  return {
      {"model",
       {"init-checkpoint", "model-name-or-path", "predict-checkpoint-path"},
       kModel,
       "Parameters to start from: a directory, .tar.gz or .zip archive or file in Hugging Face "
       "layout, a TensorFlow checkpoint, or the directory of an earlier job.",
       text_value("PATH", model(&ModelOptions::model)),
       "the bundled tiny model"},
      {"init",
       {},
       kModel,
       "Start from the model's parameters, or from random ones of the same shape.",
       choice_value<Init>(model(&ModelOptions::init),
                          {{"pretrained", Init::kPretrained}, {"random", Init::kRandom}})},
      {"model-config",
       {"bert-config-file", "config", "config-name"},
       kModel,
       "The encoder's config.json or bert_config.json.",
       text_value("FILE", model(&ModelOptions::model_config)),
       "the model's own"},
      {"vocab-file",
       {},
       kModel,
       "The vocab.txt of a model that has it elsewhere.",
       text_value("FILE", model(&ModelOptions::vocab_file)),
       "the model's own"},
      {"do-lower-case",
       {},
       kModel,
       "Lower-case the text and strip its accents.",
       switch_value(model(&ModelOptions::do_lower_case)),
       "as the model's tokenizer says"},
      {"max-seq-length",
       {"max-seq-len", "max-length"},
       kModel,
       "Longest input in tokens, [CLS] and [SEP] included; longer texts are cut.",
       integer_value(data(&DataOptions::max_seq_length), {kShortestSequence, kLongestSequence})},

      {"epochs",
       {"num-train-epochs", "num-epochs"},
       kTraining,
       "Passes over the training rows; may be a fraction.",
       real_value(training(&TrainingOptions::epochs), kEpochs)},
      {"max-steps",
       {"max-train-steps", "num-train-steps"},
       kTraining,
       "Stop after so many updates, whatever --epochs says; 0 leaves it to --epochs.",
       integer_value(training(&TrainingOptions::max_steps), {0, kAnyCount})},
      {"batch-size",
       {"train-batch-size"},
       kTraining,
       "Examples per update, over all micro-batches.",
       integer_value(training(&TrainingOptions::batch_size), {1, 1'000'000})},
      {"token-budget",
       {},
       kTraining,
       "Tokens per update at most, over all micro-batches: as many examples as fit, at least one, "
       "and no more than --batch-size where that is given, too. To know the number of updates, all "
       "rows are tokenized before the first. 0 means any number.",
       integer_value(training(&TrainingOptions::token_budget), {0, 100'000'000})},
      {"gradient-accumulation-steps",
       {},
       kTraining,
       "Micro-batches that an update is split into: less memory, the same update.",
       integer_value(training(&TrainingOptions::gradient_accumulation_steps), {1, 1'000'000})},
      {"recompute",
       {"gradient-checkpointing"},
       kTraining,
       "Keep only each layer's result for the backward pass and compute the rest again: the same "
       "weights, slower, with much less memory.",
       switch_value(training(&TrainingOptions::recompute))},
      {"drop-remainder",
       {"dataloader-drop-last"},
       kTraining,
       "Leave out an epoch's last update where it has fewer examples.",
       switch_value(training(&TrainingOptions::drop_remainder))},
      {"seed",
       {},
       kTraining,
       "Seed of every random choice; the same seed, files and flags give the same weights.",
       integer_value(training(&TrainingOptions::seed), {0, INT64_MAX})},
      {"seeds",
       {"num-seeds"},
       kTraining,
       "Train so many times, with --seed and the seeds after it, each in JOB_DIR/seed-SEED; "
       "JOB_DIR/metrics.json has the mean and the standard deviation of each metric.",
       integer_value(training(&TrainingOptions::seeds), {1, 1000})},

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

      {"job-dir",
       {"model-dir", "output-dir"},
       kOutput,
       "Where checkpoints, summaries and the finished model go. The same command resumes there.",
       text_value("DIR", output(&OutputOptions::job_dir)),
       "the parent of AIP_MODEL_DIR, if set"},
      {"reuse-job-dir",
       {},
       kOutput,
       "Resume in a job directory that was used before; --no-reuse-job-dir refuses it.",
       switch_value(output(&OutputOptions::reuse_job_dir))},
      {"export-dir",
       {"model-export-path"},
       kOutput,
       "Where the finished model goes.",
       text_value("DIR", output(&OutputOptions::export_dir)),
       "AIP_MODEL_DIR or JOB_DIR/model"},
      {"checkpoint-dir",
       {},
       kOutput,
       "Where checkpoints go.",
       text_value("DIR", output(&OutputOptions::checkpoint_dir)),
       "AIP_CHECKPOINT_DIR or JOB_DIR/checkpoints"},
      {"summary-dir",
       {"logging-dir"},
       kOutput,
       "Where TensorBoard summaries go.",
       text_value("DIR", output(&OutputOptions::summary_dir)),
       "AIP_TENSORBOARD_LOG_DIR or JOB_DIR/summaries"},
      {"logging-steps",
       {"log-steps"},
       kOutput,
       "Updates between logged losses.",
       integer_value(training(&TrainingOptions::logging_steps), {1, kAnyCount})},
      {.name = "log-format",
       .aliases = {},
       .group = kOutput,
       .help = "Progress and messages on standard error: auto is text with a bar on a terminal, "
               "else JSON, one object a line.",
       .value = choice_value<std::string>(line(&CommandLine::log_format),
                                          {{"auto", "auto"}, {"text", "text"}, {"json", "json"}}),
       .in_settings = false},
      {.name = "log-level",
       .aliases = {},
       .group = kOutput,
       .help = "The least urgent messages to show.",
       .value =
           choice_value<LogLevel>(line(&CommandLine::log_level), {{"error", LogLevel::kError},
                                                                  {"warning", LogLevel::kWarning},
                                                                  {"info", LogLevel::kInfo},
                                                                  {"debug", LogLevel::kDebug}}),
       .in_settings = false},

      {.name = "cache-dir",
       .aliases = {},
       .group = kStorage,
       .help = "Keep what is read from gs:// and https:// here, by version and checksum, so that a "
               "restarted job does not fetch it again.",
       .value = text_value("DIR", storage(&StorageOptions::cache_dir)),
       .default_text = "nothing is kept",
       .in_settings = false},
      {.name = "anonymous",
       .aliases = {},
       .group = kStorage,
       .help = "Read public gs:// objects without credentials; else Application Default "
               "Credentials are used.",
       .value = switch_value(storage(&StorageOptions::anonymous)),
       .in_settings = false},
      {.name = "parallel-uploads",
       .aliases = {},
       .group = kStorage,
       .help =
           "Upload large gs:// objects as parts of 8 MiB, which storage then joins and deletes. "
           "Switch it off for a bucket whose objects may not be deleted, or not early.",
       .value = switch_value(storage(&StorageOptions::transfer, &TransferOptions::joins_parts)),
       .in_settings = false},
      {.name = "storage-endpoint",
       .aliases = {},
       .group = kStorage,
       .help = "Another address of Google Cloud Storage, with credentials as ever. An emulator is "
               "named by STORAGE_EMULATOR_HOST.",
       .value = text_value("URL", storage(&StorageOptions::endpoint)),
       .default_text = "Google's",
       .in_settings = false},
      {.name = "storage-retry-deadline",
       .aliases = {},
       .group = kStorage,
       .help = "Seconds without any progress after which a transfer is given up.",
       .value = real_value(storage(&StorageOptions::retry, &RetryOptions::deadline_s), kSeconds),
       .in_settings = false},
      {.name = "storage-stall-timeout",
       .aliases = {},
       .group = kStorage,
       .help = "Seconds of silence after which a connection is dropped and tried again.",
       .value = real_value(storage(&StorageOptions::http, &HttpClientOptions::stall_timeout_s),
                           kSeconds),
       .in_settings = false},

      {"precision",
       {"dtype"},
       kMachine,
       "What the factors of matrix products are rounded to, and with them what backward keeps; "
       "sums, "
       "statistics and the optimizer are fp32. auto: bf16 where the CPU multiplies it (AMX, "
       "AVX512_BF16).",
       precision_value()},
      {"threads",
       {"num-threads"},
       kMachine,
       "Threads to compute with.",
       integer_value(top(&Settings::threads), {0, 1024}),
       "all CPUs that the job may use"},
      {.name = "dry-run",
       .aliases = {},
       .group = kMachine,
       .help = "Do everything that comes before the first update, print what the job will come to "
               "and the memory that it needs, and stop.",
       .value = switch_value(line(&CommandLine::dry_run)),
       .in_settings = false},
      {.name = "help",
       .aliases = {},
       .group = kMachine,
       .help = "Print this and exit; also -h.",
       .value = switch_value(line(&CommandLine::help)),
       .in_settings = false},
      {.name = "version",
       .aliases = {},
       .group = kMachine,
       .help = "Print the version and exit.",
       .value = switch_value(line(&CommandLine::version)),
       .in_settings = false},

      {.name = "help-markdown",
       .aliases = {},
       .group = kHidden,
       .help = "Print README's table.",
       .value = switch_value(line(&CommandLine::help_markdown)),
       .in_settings = false},
      {.name = "instruction-set",
       .aliases = {},
       .group = kHidden,
       .help = "Compute by these CPU instructions, for tests.",
       .value = text_value("NAME", line(&CommandLine::forced_instruction_set)),
       .in_settings = false},
  };
}

}  // namespace

std::string_view heading(FlagGroup group) {
  constexpr std::string_view kHeadings[] = {"Data",
                                            "Model",
                                            "Training",
                                            "Optimization",
                                            "Evaluation and saving",
                                            "Output",
                                            "Storage",
                                            "Tokenizing, inspecting, converting",
                                            "Machine",
                                            "Accepted without effect",
                                            "Hidden"};
  return kHeadings[static_cast<size_t>(group)];
}

std::span<const Flag> flag_table() {
  static const std::vector<Flag> table = [] {
    std::vector<Flag> flags = data_flags();
    for (Flag& flag : make_table()) flags.push_back(std::move(flag));
    for (std::vector<Flag>& more :
         std::array{optimization_flags(), tool_flags(), accepted_flags()}) {
      for (Flag& flag : more) flags.push_back(std::move(flag));
    }
    return flags;
  }();
  return table;
}

std::span<const ForeignFlag> foreign_flags() {
  static const std::vector<ForeignFlag> table = {
      {"hub-module-url", "give the parameters by --model"},
      {"per-device-train-batch-size", "use --batch-size, the examples of a whole update"},
      {"per-device-eval-batch-size", "use --eval-batch-size"},
      {"validation-split-percentage", "use --validation-split, a part from 0 to 1"},
      {"do-train", "use --mode"},
      {"do-eval", "use --mode"},
      {"do-predict", "use --mode"},
      {"bf16", "use --precision"},
      {"fp16", "use --precision"},
      {"overwrite-output-dir", "a job directory is never deleted; give a new --job-dir"},
  };
  return table;
}

}  // namespace berth
