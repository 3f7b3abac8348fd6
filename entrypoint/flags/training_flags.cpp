#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/probe_list.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr RealRange kEpochs{0, 1e6, false, true, "a number above 0, at most 1000000"};

FlagValue mini_batch_value() {
  const auto at = training_option(&TrainingOptions::embedding_mini_batch_size);
  return {"auto|N", false,
          [at](CommandLine& line, std::string_view value) {
            at(line).reset();
            if (lower_ascii(value) != "auto") at(line) = parse_integer(value, {0, 1'000'000});
          },
          [at](const CommandLine& line) {
            const std::optional<int64_t> rows = at(line);
            return rows ? std::to_string(*rows) : "auto";
          }};
}

}  // namespace

std::vector<Flag> training_flags() {
  using enum Effect;
  return {
      {"epochs, num-train-epochs, num-epochs",
       "How often to go through the training rows; may be a fraction.",
       real_value(training_option(&TrainingOptions::epochs), kEpochs),
       {kLength, kInTraining, kVaried}},
      {"max-steps, max-train-steps, num-train-steps",
       "Stop after this many updates, whatever --epochs says. 0 means that --epochs decides.",
       integer_value(training_option(&TrainingOptions::max_steps), {0, kAnyCount}),
       {kLength, kInTraining}},
      {"batch-size, train-batch-size",
       "Examples in an update, over all micro-batches.",
       integer_value(training_option(&TrainingOptions::batch_size), {1, 1'000'000}),
       {kDecides, kEverywhere, kAsBatched | kVaried}},
      {"token-budget",
       "The most tokens in an update, over all micro-batches. An update takes as many examples as "
       "fit, at least one, and no more than --batch-size if that is given. All rows are tokenized "
       "before the first update, to find the number of updates. 0 means no limit.",
       integer_value(training_option(&TrainingOptions::token_budget), {0, 100'000'000}),
       {kDecides, kEverywhere}},
      {"gradient-accumulation-steps",
       "How many micro-batches an update is split into. More of them need less memory; the update "
       "stays the same.",
       integer_value(training_option(&TrainingOptions::gradient_accumulation_steps),
                     {1, 1'000'000}),
       {kDecides, kEverywhere, kAsBatched}},
      {"embedding-mini-batch-size",
       "For --task similarity: embed the texts of N rows at a time, and keep no other activations "
       "(gradient caching). A large batch then needs the memory of a small one, and about a third "
       "more time. The update stays the same. 0 means all rows of a micro-batch. auto takes all "
       "if they fit the memory, else 32 or fewer.",
       mini_batch_value(),
       FlagRole(kDecides, kInTraining | kInEval, kAsBatched).heeded_by(tasks_that::compare)},
      {"recompute, gradient-checkpointing",
       "Gradient checkpointing: keep only the output of each layer and compute its other "
       "activations again in the backward pass. Training is slower and needs much less memory; "
       "the weights are the same.",
       switch_value(training_option(&TrainingOptions::recompute)),
       {kFree, kInTraining}},
      {"drop-remainder, dataloader-drop-last",
       "Skip the last update of an epoch if it would have fewer examples than the others.",
       switch_value(training_option(&TrainingOptions::drop_remainder)),
       {kDecides, kInTraining}},
      {"batch-sampler",
       "For --task similarity without labels: how the rows of an update are chosen. random takes "
       "the shuffled rows as they come. no_duplicates leaves a row for a later update if another "
       "row of this update has the same text. So no text is its own negative.",
       choice_value<BatchSampler>(
           training_option(&TrainingOptions::sampler),
           {{"random", BatchSampler::kRandom}, {"no_duplicates", BatchSampler::kNoDuplicates}}),
       FlagRole(kDecides, kInTraining).heeded_by(tasks_that::find_partners)},
      {"seed",
       "The seed of every random choice. The same seed, files and flags give the same weights.",
       integer_value(training_option(&TrainingOptions::seed), {0, INT64_MAX}),
       {kDecides, kInTraining | kInMine | kInPrepare, kVaried}},
      {"seeds, num-seeds",
       "Train this many times, with --seed and the seeds after it, each in JOB_DIR/seed-SEED. "
       "JOB_DIR/metrics.json then holds the mean and the standard deviation of each metric.",
       integer_value(training_option(&TrainingOptions::seeds), {1, 1000}),
       {kDecides, kInTraining}},
  };
}

namespace {

constexpr RealRange kRate{0, 100, false, true, "a number above 0, at most 100"};
constexpr RealRange kNotNegative{0, 1e9, true, true, "a number from 0 to 1e9"};
constexpr RealRange kPart{0, 1, true, true, "a number from 0 to 1"};
constexpr RealRange kDecay{0, 1, false, true, "a number above 0, at most 1"};
constexpr RealRange kBelowOne{0, 1, true, false, "a number from 0 to less than 1"};
constexpr RealRange kAlpha{0, 1e6, false, true, "a number above 0, at most 1e6"};
constexpr RealRange kGamma{0, 100, true, true, "a number from 0 to 100"};
constexpr RealRange kPower{0, 100, false, true, "a number above 0, at most 100"};

auto optimization(auto member) {
  return place(&CommandLine::settings, &Settings::training, &TrainingOptions::optimization, member);
}

auto adapter(auto member) {
  return place(&CommandLine::settings, &Settings::training, &TrainingOptions::optimization,
               &OptimizationOptions::lora, member);
}

bool is_polynomial(const Settings& settings) {
  return settings.training.optimization.lr_scheduler_type == ScheduleType::kPolynomial;
}

bool falls(const Settings& settings) {
  const ScheduleType type = settings.training.optimization.lr_scheduler_type;
  return type != ScheduleType::kConstant && type != ScheduleType::kConstantWithWarmup;
}

FlagValue schedule_value() {
  FlagValue value =
      choice_value<ScheduleType>(optimization(&OptimizationOptions::lr_scheduler_type),
                                 {{"linear", ScheduleType::kLinear},
                                  {"cosine", ScheduleType::kCosine},
                                  {"polynomial", ScheduleType::kPolynomial},
                                  {"constant", ScheduleType::kConstant},
                                  {"constant_with_warmup", ScheduleType::kConstantWithWarmup}});
  value.hint = "TYPE";
  return value;
}

FlagValue optimizer_value() {
  FlagValue value = choice_value<OptimizerType>(optimization(&OptimizationOptions::optimizer),
                                                {{"adamw", OptimizerType::kAdamW},
                                                 {"lamb", OptimizerType::kLamb},
                                                 {"adamw_torch", OptimizerType::kAdamW},
                                                 {"adamw_hf", OptimizerType::kAdamW}});
  value.hint = "adamw|lamb";
  return value;
}

}  // namespace

std::vector<Flag> optimization_flags() {
  using enum Effect;
  return {
      {"learning-rate, lr",
       "The peak learning rate, reached after warm-up. A narrow encoder needs a larger one, and "
       "so do random parameters. The defaults are for --optimizer adamw.",
       optional_real_value(optimization(&OptimizationOptions::learning_rate), kRate),
       {kDecides, kInTraining, kVaried},
       "by the encoder's width: 5e-5 from 768 on, 1.4e-4 for 384, 7.3e-4 for 128; in pre-training "
       "with --init random 2e-4 for 768, 5e-4 for 256, 8.9e-4 for 128"},
      {"lr-scheduler-type, lr-scheduler",
       "How the learning rate changes after its peak: linear and cosine fall to --lr-end, "
       "polynomial falls to --lr-end or 1e-7, and constant_with_warmup stays at the peak. "
       "constant has no warm-up.",
       schedule_value(),
       {kDecides, kInTraining}},
      {"lr-end, end-lr", "The learning rate at the end of the schedules that fall.",
       real_value(optimization(&OptimizationOptions::lr_end), kNotNegative),
       FlagRole(kDecides, kInTraining).heeded_where(falls, "give --lr-scheduler-type linear")},
      {"lr-power", "The power of the polynomial schedule.",
       real_value(optimization(&OptimizationOptions::lr_power), kPower),
       FlagRole(kDecides, kInTraining)
           .heeded_where(is_polynomial, "give --lr-scheduler-type polynomial")},
      {"warmup-ratio, warmup-proportion",
       "The fraction of all updates over which the learning rate rises from 0 to its peak.",
       real_value(optimization(&OptimizationOptions::warmup_ratio), kPart),
       {kDecides, kInTraining, kVaried}},
      {"warmup-steps, num-warmup-steps",
       "The number of updates over which the learning rate rises, instead of --warmup-ratio. 0 "
       "gives way to a --warmup-ratio that is given, as in Trainer.",
       optional_integer_value(optimization(&OptimizationOptions::warmup_steps), {0, kAnyCount}),
       {kDecides, kInTraining}},
      {"optimizer, optim, optimizer-type",
       "The optimizer: AdamW, or LAMB for batches of thousands of examples.",
       optimizer_value(),
       {kDecides, kInTraining}},
      {"adam-beta1",
       "The decay of the running mean of the gradients.",
       real_value(optimization(&OptimizationOptions::adam_beta1), kBelowOne),
       {kDecides, kInTraining}},
      {"adam-beta2",
       "The decay of the running mean of the squared gradients.",
       real_value(optimization(&OptimizationOptions::adam_beta2), kBelowOne),
       {kDecides, kInTraining}},
      {"adam-epsilon",
       "The number that is added to the root of the mean of the squared gradients. BERT was "
       "trained with 1e-6.",
       real_value(optimization(&OptimizationOptions::adam_epsilon), kDecay),
       {kDecides, kInTraining}},
      {"weight-decay, weight-decay-rate",
       "The weight decay. Biases and layer norms do not decay.",
       real_value(optimization(&OptimizationOptions::weight_decay), kNotNegative),
       {kDecides, kInTraining, kVaried}},
      {"max-grad-norm",
       "Gradients whose norm is larger are scaled down to this norm. 0 means no clipping.",
       real_value(optimization(&OptimizationOptions::max_grad_norm), kNotNegative),
       {kDecides, kInTraining}},
      {"layerwise-lr-decay, layer-decay",
       "The learning rate of each layer, as a fraction of the layer above it. The head has the "
       "full rate.",
       real_value(optimization(&OptimizationOptions::layerwise_lr_decay), kDecay),
       {kDecides, kInTraining}},
      {"label-smoothing, label-smoothing-factor",
       "The fraction of each training target that is spread over all classes.",
       real_value(optimization(&OptimizationOptions::label_smoothing), kBelowOne),
       FlagRole(kDecides, kInTraining).heeded_by(tasks_that::have_cross_entropy)},
      {"focal-gamma",
       "Train with a focal loss of this gamma: a class or a label that the model gives the "
       "probability p has (1 - p)^gamma of its loss. 0 means the plain loss.",
       real_value(optimization(&OptimizationOptions::focal_gamma), kGamma),
       FlagRole(kDecides, kInTraining).heeded_by(tasks_that::choose_classes)},
      {"class-weights",
       "The weight of each class or tag in the loss. For sets of labels, the factor of a label's "
       "loss in rows that have the label. The value is balanced, or one number for each label, in "
       "their order.",
       text_value("W,W,...", optimization(&OptimizationOptions::class_weights)),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater).heeded_by(tasks_that::choose_classes),
       "every class has weight 1"},
      {"freeze-embeddings", "Do not train the embeddings.",
       switch_value(optimization(&OptimizationOptions::freeze_embeddings)),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)},
      {"freeze-encoder-layers", "Do not train this many of the lowest layers, nor the embeddings.",
       integer_value(optimization(&OptimizationOptions::freeze_encoder_layers), {0, 1024}),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)},
      {"lora-rank, lora-r",
       "Low-rank adaptation: train only the head and adapters of this rank beside the dense "
       "layers. 0 trains the whole model. The adapters are merged into the exported model.",
       integer_value(adapter(&LoraOptions::rank), {0, 1024}),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)},
      {"lora-alpha", "The outputs of the adapters are scaled by this number divided by the rank.",
       real_value(adapter(&LoraOptions::alpha), kAlpha),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)
           .only_with("lora-rank", "adapter")},
      {"lora-target-modules",
       "The dense layers that get adapters, joined by commas, named as in PEFT: query, key, "
       "value, attention.output.dense, intermediate.dense, output.dense; or the end of a name "
       "that several share (dense), or all-linear.",
       text_value("NAMES", adapter(&LoraOptions::target_modules)),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)
           .only_with("lora-rank", "adapter"),
       "each layer's query and value"},
      {"lora-dropout", "The dropout rate of the adapters' inputs in training.",
       real_value(adapter(&LoraOptions::dropout), kBelowOne),
       FlagRole(kDecides, kInTraining, kTaskIsRefusedLater)
           .heeded_by(tasks_that::train_one_network)
           .only_with("lora-rank", "adapter")},
      {"export-adapter",
       "Also write the adapters as PEFT files, into the folder adapter of the finished model.",
       switch_value(
           place(&CommandLine::settings, &Settings::output, &OutputOptions::export_adapter)),
       FlagRole(kDecides, kInTraining | kInExport, kTaskIsRefusedLater)
           .heeded_by(tasks_that::export_adapters)
           .only_with("lora-rank", "adapter")},
  };
}

namespace {

FlagValue mode_value() {
  std::vector<std::pair<const char*, Mode>> modes;
  for (const ModeTraits& row : mode_table()) modes.emplace_back(row.name.data(), row.mode);
  FlagValue value = choice_value<Mode>(place(&CommandLine::settings, &Settings::mode), modes);
  value.hint = "MODE";
  return value;
}

std::string mode_purposes() {
  return joined(mode_table(), " ",
                [](const ModeTraits& row) { return cat(row.name, " ", row.purpose, "."); });
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
  return {
      {"mode",
       cat("What to do. ", mode_purposes(),
           " The mode may also stand before all flags: berth predict is berth --mode predict."),
       mode_value(), FlagRole(kFree, kInEachMode).decides_where(holds_rows_out)},
      {"eval-steps", "Evaluate after every N updates. 0 means that --num-eval-per-epoch decides.",
       integer_value(training_option(&TrainingOptions::eval_steps), {0, kAnyCount}),
       FlagRole(kFree, kInTrainAndEval).decides_where(heeds_evaluations)},
      {"num-eval-per-epoch",
       "How often to evaluate in an epoch; the last evaluation is at its end.",
       integer_value(training_option(&TrainingOptions::num_eval_per_epoch), {1, 1'000'000}),
       {kDecides, kInTrainAndEval}},
      {"eval-batch-size",
       "How many examples to evaluate at once.",
       integer_value(training_option(&TrainingOptions::eval_batch_size), {0, 1'000'000}),
       {kFree, kInTrainAndEval | kInInference, kAsBatched},
       "as many as in a micro-batch"},
      {"save-steps, save-checkpoints-steps",
       "Save a checkpoint after every N updates. 0 means that no number of updates causes one. The "
       "best evaluation and the end are always saved.",
       integer_value(training_option(&TrainingOptions::save_steps), {0, kAnyCount}),
       {kFree, kInTraining}},
      {"save-minutes",
       "Also save a checkpoint after X minutes without one. 0 means that the time does not "
       "matter. auto takes 5 to 30 minutes, so that saving costs at most 1 % of the time (more if "
       "one save takes over 18 seconds). One that auto saved is removed when two others are there.",
       save_minutes(),
       {kFree, kInTraining},
       "0 with --save-steps, else auto"},
      {"grace-seconds",
       "The seconds between the platform's SIGTERM and SIGKILL. If the last checkpoint took "
       "longer than the remaining seconds, a stopped job writes no other one, and says so. A job "
       "that is still saving a second before SIGKILL ends without that checkpoint. 0 means that "
       "the time is not known.",
       integer_value(training_option(&TrainingOptions::grace_s), {0, 1'000'000}),
       {kFree, kInTraining}},
      {"step-timeout",
       "End with exit code 12, after printing what each thread does, when an update, or a part of "
       "an evaluation, takes N seconds. 0 waits for ever.",
       integer_value(training_option(&TrainingOptions::step_timeout_s), {0, 1'000'000}),
       {kFree, kInTraining}},
      {"save-total-limit",
       "How many of the newest checkpoints to keep, besides the best one. If the disk is full, "
       "all but one make room. 0 keeps all, also on a full disk.",
       integer_value(training_option(&TrainingOptions::save_total_limit), {0, kAnyCount}),
       {kFree, kInTraining}},
      {"metric-for-best-model",
       "The metric that decides which evaluation is the best: loss, or a metric of the task.",
       text_value("NAME", training_option(&TrainingOptions::metric_for_best_model)),
       {kDecides, kInTrainAndEval},
       "the task's main metric"},
      {"hypertune-metric",
       "The metric to report to hyperparameter tuning after each evaluation. It is written to the "
       "file CLOUD_ML_HP_METRIC_FILE, or to /tmp/hypertune/output.metrics.",
       text_value("NAME", output_option(&OutputOptions::hypertune_metric)),
       FlagRole(kFree, kInTraining).about_evaluations_where([](const Settings& settings) {
         return !settings.output.hypertune_metric.empty();
       }),
       "CLOUD_ML_HP_METRIC_TAG if it names one, else --metric-for-best-model"},
      {"early-stopping-patience",
       "Stop after this many evaluations in a row that are no improvement. 0 means never.",
       integer_value(training_option(&TrainingOptions::early_stopping_patience), {0, kAnyCount}),
       FlagRole(kDecides, kInTraining).about_evaluations_where([](const Settings& settings) {
         return settings.training.early_stopping_patience > 0;
       })},
      {"early-stopping-threshold",
       "The metric must be better than the best one by more than this number to count as an "
       "improvement.",
       real_value(training_option(&TrainingOptions::early_stopping_threshold), kNotNegative),
       FlagRole(kDecides, kInTraining).only_with("early-stopping-patience", "patience")},
      {"load-best-model-at-end", "Export the model of the best checkpoint, not of the last one.",
       switch_value(training_option(&TrainingOptions::load_best_model_at_end)),
       FlagRole(kDecides, kInTraining).about_evaluations_where([](const Settings& settings) {
         return settings.training.load_best_model_at_end;
       })},
  };
}

namespace {

auto probe_option(auto member) { return place(&CommandLine::settings, &Settings::probes, member); }

FlagValue probe_value() {
  FlagValue value = text_value("[NAME:][TASK=]FILE,...", probe_option(&ProbeOptions::files));
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    std::string files;  // with the home directory in the place of ~/
    for (size_t at = 0; at < given.size(); ++at) {
      const bool begins_file = at == 0 || std::string_view(",:=").find(given[at - 1]) < 3;
      const bool is_home = begins_file && given.substr(at).starts_with("~/");
      files += is_home ? parse_path("~", line.home) : std::string(1, given[at]);
    }
    for (const ProbeFile& probe : parse_probes(files)) parse_path(probe.file, line.home);
    set(line, files);
  };
  return value;
}

}  // namespace

std::vector<Flag> probe_flags() {
  using enum Effect;
  return {
      {"probe",
       "For pre-training: fine-tune the current encoder on these labelled rows and report the "
       "scores. This happens before the first update, at intervals and at the end. FILE is any "
       "value of --train-data-file (write a comma in it as \\,), and TASK is a value of --task. "
       "Training waits meanwhile, and its result is the same as without probes.",
       probe_value(),
       {kFree, kInTraining, kOwnToWorker},
       "none"},
      {"probe-steps", "Probe after every N updates. 0 means as often as evaluations.",
       integer_value(probe_option(&ProbeOptions::steps), {0, kAnyCount}),
       FlagRole(kFree, kInTraining).only_with("probe", "probe")},
      {"probe-samples",
       "How many rows of its file a probe trains on at most, in three epochs. It scores about as "
       "many others, but no more than a fifth of the rows.",
       integer_value(probe_option(&ProbeOptions::samples), {1, kAnyCount}),
       FlagRole(kFree, kInTraining).only_with("probe", "probe")},
  };
}

}  // namespace berth
