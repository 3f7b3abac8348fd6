#include "entrypoint/flags/check_settings.h"

#include <optional>
#include <utility>

#include "entrypoint/flags/data_files.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "trainer/loop/load_model.h"
#include "trainer/model/task.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

void need(const std::string& value, const std::string& flag, const std::string& mode) {
  if (value.empty()) {
    const std::string who = mode == "train_and_eval" ? "a training" : "--mode " + mode;
    throw Error(Code::kUsage, cat(flag, " is missing"), "",
                cat(who, " needs it; --help shows an example"));
  }
}

// Throws kUsage if a flag is missing, or would have no effect, where a corpus is prepared.
void check_corpus(const Settings& settings) {
  need(settings.data.train_data_file, "--train-data-file", "prepare");
  need(settings.output.export_dir, "--export-dir", "prepare");
  for (const auto& [flag, file] :
       {std::pair("--eval-data-file", &settings.data.eval_data_file),
        std::pair("--predict-data-file", &settings.data.predict_data_file)}) {
    if (file->empty()) continue;
    throw Error(Code::kUsage, "a corpus is prepared from --train-data-file alone", flag,
                "prepare the other file by another run");
  }
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
  const bool predicts = settings.mode == Mode::kPredict;
  for (const char* flag : {"predictions-file", "id-column"}) {
    if (predicts || settings.mode == Mode::kEmbed || !command_line.gives(flag)) continue;
    throw Error(Code::kUsage, "the flag is only for --mode predict and embed", cat("--", flag));
  }
  for (const char* flag : {"predictions-with-text", "predictions-safe-for-spreadsheets"}) {
    if (predicts || !command_line.gives(flag)) continue;
    throw Error(Code::kUsage, "the flag is only for --mode predict", cat("--", flag));
  }
  if (prepares_corpus(settings.data, settings.mode)) return check_corpus(settings);
  DataOptions data = settings.data;
  complete_data_files(data, settings.mode);
  switch (settings.mode) {
    case Mode::kTrain:
    case Mode::kTrainAndEval: {
      const std::string mode = settings.mode == Mode::kTrain ? "train" : "train_and_eval";
      need_data_dir(data);
      need(data.train_data_file, "--train-data-file", mode);
      need(settings.output.job_dir, "--job-dir", mode);
      return;
    }
    case Mode::kEval:
      need(data.eval_data_file, "--eval-data-file", "eval");
      break;
    case Mode::kPredict:
      need(data.predict_data_file, "--predict-data-file", "predict");
      break;
    case Mode::kEmbed:
      need(data.predict_data_file, "--predict-data-file", "embed");
      break;
    case Mode::kExportOnly:
      need(settings.output.export_dir, "--export-dir", "export_only");
      break;
    case Mode::kPrepare:
      need(data.train_data_file, "--train-data-file", "prepare");
      if (settings.model.model.empty() && settings.model.vocab_file.empty() &&
          needs_tokenizer(data)) {
        need("", "--model (or --vocab-file), for its tokenizer,", "prepare");
      }
      return need(settings.output.export_dir, "--export-dir", "prepare");
    case Mode::kTokenize:
      need(settings.model.model, "--model", "tokenize");
      if (command_line.tool.text) return;
      return need(command_line.tool.input, "--input (or --text)", "tokenize");
    case Mode::kInspect:
      return need(command_line.tool.input, "the file to look into", "inspect");
    case Mode::kReport:
      return need(command_line.tool.input, "the job directory to compare", "report");
    case Mode::kConvert:
      need(settings.model.model, "--model", "convert");
      return need(settings.output.export_dir, "--export-dir", "convert");
    case Mode::kHeartbeat:
      return need(settings.output.job_dir, "--job-dir", "heartbeat");
    case Mode::kBench:
      return;
    case Mode::kFetch:
      need(command_line.tool.input, "what to fetch", "fetch");
      return need(settings.output.export_dir, "--export-dir", "fetch");
    case Mode::kTrainTokenizer:
      need(data.train_data_file, "--train-data-file", "train_tokenizer");
      if (!settings.output.job_dir.empty()) return;
      return need(settings.output.export_dir, "--export-dir", "train_tokenizer");
  }
  if (settings.output.job_dir.empty() && settings.model.model.empty()) {
    throw Error(Code::kUsage, "no model is given", "",
                "give the --job-dir of a finished job, or --model");
  }
}

void check_places(const OutputOptions& output) {
  for (const auto& [flag, place] :
       {std::pair("--job-dir", &output.job_dir), std::pair("--export-dir", &output.export_dir),
        std::pair("--checkpoint-dir", &output.checkpoint_dir),
        std::pair("--summary-dir", &output.summary_dir)}) {
    if (place->empty() || !Uri::parse(*place).scheme().starts_with("http")) continue;
    throw Error(Code::kUsage, "berth cannot write to http(s)://, which can only be read", flag,
                "give a local directory or gs://bucket/directory");
  }
}

// Throws kUsage if a flag is about evaluations and the job has none.
void check_evaluations(const Settings& settings) {
  const DataOptions& data = settings.data;
  const bool has_rows =
      !data.eval_data_file.empty() || !data.data_dir.empty() || data.validation_split > 0;
  const bool evaluates = settings.mode == Mode::kTrainAndEval && has_rows;
  if (evaluates || (settings.mode != Mode::kTrain && settings.mode != Mode::kTrainAndEval)) return;
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

void check_lora(const Settings& settings) {
  const LoraOptions& lora = settings.training.optimization.lora;
  const bool adapts = static_cast<bool>(lora);
  const bool exports_only =
      settings.mode == Mode::kExportOnly;  // the job says which adapters it has
  const LoraOptions none = OptimizationOptions().lora;
  const std::pair<bool, const char*> asked[] = {
      {settings.output.export_adapter && !exports_only, "--export-adapter"},
      {lora.target_modules != none.target_modules, "--lora-target-modules"},
      {lora.alpha != none.alpha, "--lora-alpha"},
      {lora.dropout != none.dropout, "--lora-dropout"}};
  for (const auto& [is_asked, flag] : asked) {
    if (!is_asked || adapts) continue;
    throw Error(Code::kUsage, "there is no adapter without --lora-rank", flag,
                "give a rank, or leave this flag out");
  }
  if (adapts && settings.model.init == Init::kRandom) {
    throw Error(Code::kUsage,
                "LoRA leaves the encoder as it is, and --init random makes that noise",
                "--lora-rank", "use LoRA with a pretrained model");
  }
}

void check_distillation(const Settings& settings) {
  const bool trains = settings.mode == Mode::kTrain || settings.mode == Mode::kTrainAndEval;
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
  const bool trains = settings.mode == Mode::kTrain || settings.mode == Mode::kTrainAndEval;
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
  const Mode mode = command_line.settings.mode;
  if (!command_line.dry_run || mode == Mode::kTrain || mode == Mode::kTrainAndEval) return;
  throw Error(Code::kUsage, "the flag is for training only", "--dry-run",
              "leave it out, or use --mode train_and_eval");
}

void check_probes(const Settings& settings) {
  const ProbeOptions none;
  if (settings.probes.files.empty()) {
    for (const auto& [is_asked, flag] :
         {std::pair(settings.probes.steps != none.steps, "--probe-steps"),
          std::pair(settings.probes.samples != none.samples, "--probe-samples")}) {
      if (!is_asked) continue;
      throw Error(Code::kUsage, "there are no probes without --probe", flag,
                  "name labelled rows with --probe, or leave this flag out");
    }
    return;
  }
  const bool trains = settings.mode == Mode::kTrain || settings.mode == Mode::kTrainAndEval;
  const std::optional<Task> task = find_task(settings.data.task);
  if (trains && task && !traits(*task).has_label_column) return;
  throw Error(Code::kUsage,
              "a probe shows what pre-training brings, and this job does not pre-train", "--probe",
              "leave it out, or give a task that needs no labels, such as --task mlm");
}

// Throws kUsage where embeddings cannot be made, or have no place.
void check_embedding(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  const bool trains = settings.mode == Mode::kTrain || settings.mode == Mode::kTrainAndEval;
  const EmbeddingOptions& options = settings.embedding;
  for (const auto& [is_asked, flag] :
       {std::pair(options.pooling.has_value(), "--pooling"),
        std::pair(options.normalizes.has_value(), "--normalize-embeddings"),
        std::pair(options.loss.has_value(), "--similarity-loss"),
        std::pair(settings.data.max_similarity != DataOptions().max_similarity,
                  "--max-similarity")}) {
    if (!is_asked || !trains || find_task(settings.data.task) == Task::kSimilarity) continue;
    throw Error(Code::kUsage, "only --task similarity trains embeddings", flag,
                "give that task, or leave this flag out");
  }
  if (settings.mode != Mode::kEmbed) return;
  if (settings.device != DeviceKind::kAuto && settings.device != DeviceKind::kCpu) {
    throw Error(Code::kUsage, "text embeddings are computed on CPUs only", "--device",
                "leave it out, or give --device cpu");
  }
  const std::string& file = command_line.tool.predictions_file;
  const bool goes_to_output = file == "-" || (file.empty() && settings.output.job_dir.empty());
  if (!goes_to_output || settings.embedding.format == EmbeddingsFormat::kJsonl) return;
  throw Error(Code::kUsage, "binary embeddings do not go to standard output", "",
              "give --job-dir or --predictions-file, or --embeddings-format jsonl");
}

// Throws kUsage where products cannot be made in int8.
void check_precision(const Settings& settings) {
  if (settings.precision != Precision::kInt8) return;
  constexpr const char* kFlag = "--precision int8";
  const Mode mode = settings.mode;
  if (mode != Mode::kPredict && mode != Mode::kEval && mode != Mode::kEmbed) {
    throw Error(Code::kUsage, "a model is not trained in int8", kFlag,
                "train with fp32, bf16 or auto, and use int8 in --mode predict, eval or embed");
  }
  if (settings.device == DeviceKind::kAuto || settings.device == DeviceKind::kCpu) return;
  throw Error(Code::kUsage, "products in int8 are made on CPUs only", kFlag,
              "give --device cpu, or --precision auto for this device");
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
  check_places(settings.output);
  check_evaluations(settings);
  check_lora(settings);
  check_distillation(settings);
  check_generator(settings);
  check_seeds(command_line);
  check_probes(settings);
  check_dry_run(command_line);
  check_embedding(command_line);
  check_precision(settings);
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
