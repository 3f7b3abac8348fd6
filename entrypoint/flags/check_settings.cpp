#include "entrypoint/flags/check_settings.h"

#include <optional>
#include <string_view>
#include <utility>

#include "entrypoint/flags/data_files.h"
#include "entrypoint/flags/device_rules.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/mode_flags.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "trainer/loop/load_model.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

void need(std::string_view value, std::string_view flag, const ModeTraits& mode) {
  if (!value.empty()) return;
  throw Error(Code::kUsage, cat(flag, " is missing"), "",
              cat(mode.evaluates_training() ? "a training" : cat("--mode ", mode.name),
                  " needs it; --help shows an example"));
}

// Throws kUsage if a GLUE task has no files, because other programs download them by its name.
void need_data_dir(const DataOptions& data) {
  const GlueTask* glue = find_glue_task(data.task);
  if (glue == nullptr || !data.train_data_file.empty()) return;
  throw Error(
      Code::kUsage, cat("the files of ", glue->name, " are missing"), "",
      "name GLUE's own by --data-dir, or a folder of `datasets` by --train-data-file; `berth "
      "explain` shows how to make one");
}

void check_files(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  for (const Flag& flag : flag_table()) {
    if (!flag.role.has(kRefusedElsewhere) || flag.role.is_used(settings)) continue;
    if (!command_line.gives(flag.name)) continue;
    throw Error(Code::kUsage, cat("the flag is only for --mode ", mode_names(flag.role.modes)),
                cat("--", flag.name));
  }
  const bool is_corpus = prepares_corpus(settings.data, settings.mode);
  CommandLine completed = command_line;
  const DataOptions& data = completed.settings.data;
  complete_data_files(completed.settings.data, settings.mode);
  const ModeTraits& mode = traits(settings.mode);
  const OutputOptions& output = settings.output;
  const ModelOptions& model = settings.model;
  const std::string& input = command_line.tool.input;
  if (mode.trains()) need_data_dir(data);
  if (mode.takes_inputs) need(input, mode.input, mode);
  for (const Flag& flag : flag_table()) {
    const std::string value = flag.value.get(completed);
    if (mode.needs_any(flag.role.need)) need(value, cat("--", flag.name), mode);
    const bool is_other_file = (flag.role.need & (kNeedsEvalData | kNeedsPredictData)) != 0;
    if (!is_corpus || !is_other_file || value.empty()) continue;
    throw Error(Code::kUsage, "a corpus is prepared from --train-data-file alone",
                cat("--", flag.name), "prepare the other file by another run");
  }
  if (mode.needs_any(kNeedsTokenizer) && !is_corpus && model.vocab_file.empty() &&
      needs_tokenizer(data)) {
    need(model.model, "--model (or --vocab-file), for its tokenizer,", mode);
  }
  if (mode.needs_any(kNeedsInput) && !command_line.tool.text) need(input, mode.input, mode);
  if (mode.needs_any(kNeedsPlace) && output.job_dir.empty()) {
    need(output.export_dir, "--export-dir", mode);
  }
  if (mode.needs_any(kNeedsModelOrJob) && output.job_dir.empty() && model.model.empty()) {
    throw Error(Code::kUsage, "no model is given", "",
                "give the --job-dir of a finished job, or --model");
  }
}

void check_places(const CommandLine& command_line) {
  for (const Flag& flag : flag_table()) {
    if (!flag.role.has(kWrittenTo)) continue;
    const std::string place = flag.value.get(command_line);
    if (place.empty() || !Uri::parse(place).scheme().starts_with("http")) continue;
    throw Error(Code::kUsage, "berth cannot write to http(s)://, which can only be read",
                cat("--", flag.name), "give a local directory or gs://bucket/directory");
  }
}

// Throws kUsage if a flag is about evaluations and the job has none.
void check_evaluations(const Settings& settings) {
  const DataOptions& data = settings.data;
  const bool has_rows =
      !data.eval_data_file.empty() || !data.data_dir.empty() || data.validation_split > 0;
  const ModeTraits& mode = traits(settings.mode);
  if (!mode.trains() || (mode.evaluates_training() && has_rows)) return;
  const auto needs_evaluations = [&](bool asked, const char* flag) {
    if (!asked) return;
    if (has_rows) {
      throw Error(Code::kUsage, "--mode train never evaluates", flag, "use --mode train_and_eval");
    }
    throw Error(Code::kUsage, "there are no rows to evaluate on", flag,
                "give --eval-data-file, or a --validation-split above 0");
  };
  needs_evaluations(settings.training.early_stopping_patience > 0, "--early-stopping-patience");
  needs_evaluations(settings.training.load_best_model_at_end, "--load-best-model-at-end");
  needs_evaluations(!settings.output.hypertune_metric.empty(), "--hypertune-metric");
}

// Throws kUsage if a flag changes nothing without another one, which is at its default.
void check_companions(const CommandLine& command_line) {
  const CommandLine defaults;
  const auto is_asked = [&](const Flag& flag) {
    return flag.value.get(command_line) != flag.value.get(defaults);
  };
  const Settings& settings = command_line.settings;
  for (const Flag& flag : flag_table()) {
    const FlagRole& role = flag.role;
    if (role.companion == nullptr || !is_asked(flag)) continue;
    if (is_asked(*find_flag(role.companion))) continue;
    if (!traits(settings.mode).trains() && role.is_used(settings)) continue;
    throw Error(Code::kUsage, cat("there is no ", role.thing, " without --", role.companion),
                cat("--", flag.name), cat("give --", role.companion, ", or leave this flag out"));
  }
}

void check_lora(const Settings& settings) {
  const bool adapts = static_cast<bool>(settings.training.optimization.lora);
  if (adapts && settings.model.init == Init::kRandom) {
    throw Error(Code::kUsage,
                "LoRA leaves the encoder as it is, and --init random makes that noise",
                "--lora-rank", "use LoRA with a pretrained model");
  }
}

void check_distillation(const Settings& settings) {
  const bool trains = traits(settings.mode).trains();
  const DistillationOptions& options = settings.distillation;
  if (!trains || options.target != DistillationTarget::kHiddenStates) return;
  constexpr const char* kFlag = "--distillation-target hidden_states";
  if (options.teacher.empty()) {
    throw Error(Code::kUsage, "there is no teacher", kFlag,
                "name one with --teacher, or leave this flag out");
  }
  if (find_task(settings.data.task) == Task::kMaskedLm) return;
  throw Error(Code::kUsage, "hidden states are learnt from texts without labels", kFlag,
              "give --task mlm, or leave this flag out");
}

void check_generator(const Settings& settings) {
  const bool trains = traits(settings.mode).trains();
  if (!trains || settings.electra.generator.empty() || settings.model.init != Init::kRandom) return;
  throw Error(Code::kUsage,
              "the generator uses the model's embeddings, and --init random makes them noise",
              "--generator", "leave one of the two out");
}

void check_seeds(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  if (settings.training.seeds == 1) return;
  if (command_line.is_tuned()) {
    throw Error(Code::kUsage, "hyperparameter tuning expects one run for each trial", "--seeds",
                "leave this flag out, or make --seed a parameter of the study");
  }
}

void check_dry_run(const CommandLine& command_line) {
  if (!command_line.dry_run || traits(command_line.settings.mode).trains()) return;
  throw Error(Code::kUsage, "the flag is for training only", "--dry-run",
              "leave it out, or use --mode train_and_eval");
}

void check_probes(const Settings& settings) {
  if (settings.probes.files.empty()) return;
  const bool trains = traits(settings.mode).trains();
  const std::optional<Task> task = find_task(settings.data.task);
  if (trains && task && !traits(*task).has_label_column) return;
  throw Error(Code::kUsage,
              "a probe shows what pre-training brings, and this job does not pre-train", "--probe",
              "leave it out, or give a task that needs no labels, such as --task mlm");
}

// Throws kUsage where embeddings cannot be made, or have no place.
void check_embedding(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  const bool trains = traits(settings.mode).trains();
  const bool embeds = find_task(settings.data.task) == Task::kSimilarity;
  const CommandLine defaults;
  for (const Flag& flag : flag_table()) {
    const TaskRule rule = flag.role.tasks;
    const bool is_of_embeddings =
        rule == tasks_that::compare || rule == tasks_that::compare_with_labels;
    if (!trains || embeds || !is_of_embeddings) continue;
    if (flag.value.get(command_line) == flag.value.get(defaults)) continue;
    throw Error(Code::kUsage, "only --task similarity trains embeddings", cat("--", flag.name),
                "give that task, or leave this flag out");
  }
  if (!traits(settings.mode).makes_vectors) return;
  const std::string& file = command_line.tool.predictions_file;
  const bool goes_to_output = file == "-" || (file.empty() && settings.output.job_dir.empty());
  if (!goes_to_output || settings.embedding.format == EmbeddingsFormat::kJsonl) return;
  throw Error(Code::kUsage, "binary embeddings do not go to standard output", "",
              "give --job-dir or --predictions-file, or --embeddings-format jsonl");
}

void check_precision(const Settings& settings) {
  if (settings.precision != Precision::kInt8) return;
  if (traits(settings.mode).runs_finished_model()) return;
  throw Error(Code::kUsage, "a model is not trained in int8", "--precision int8",
              "train with fp32, bf16 or auto, and use int8 in --mode predict, eval or embed");
}

// Throws kUsage where rows are to be joined and not.
void check_joining(const DataOptions& data) {
  if (!data.line_by_line || !data.attends_across_documents) return;
  throw Error(Code::kUsage, "with --line-by-line a sequence holds one document",
              "--attend-across-documents", "leave one of the two out");
}

void check_columns(const DataOptions& data) {
  const auto differ = [](const std::string& a, const char* flag_a, const std::string& b,
                         const char* flag_b) {
    if (!a.empty() && a == b) {
      throw Error(Code::kUsage, cat(flag_a, " and ", flag_b, " both name column ", quoted(a)));
    }
  };
  differ(data.text_column, "--text-column", data.label_column, "--label-column");
  differ(data.text_column, "--text-column", data.text_pair_column, "--text-pair-column");
  differ(data.text_pair_column, "--text-pair-column", data.label_column, "--label-column");
}

}  // namespace

void check_settings(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  check_columns(settings.data);
  check_joining(settings.data);
  check_places(command_line);
  check_evaluations(settings);
  check_companions(command_line);
  check_lora(settings);
  check_distillation(settings);
  check_generator(settings);
  check_seeds(command_line);
  check_probes(settings);
  check_dry_run(command_line);
  check_embedding(command_line);
  check_precision(settings);
  if (traits(settings.mode).computes != ComputesOn::kNothing) {
    require_device(command_line, settings.device);
  }
  const TrainingOptions& training = settings.training;
  if (training.gradient_accumulation_steps > training.batch_size) {
    throw Error(Code::kUsage,
                cat(training.gradient_accumulation_steps, " is more than the ", training.batch_size,
                    " examples of --batch-size"),
                "--gradient-accumulation-steps",
                "give at most one micro-batch for each example of an update");
  }
  check_files(command_line);
}

}  // namespace berth
