#include "entrypoint/run.h"

#include <algorithm>

#include "entrypoint/modes/earlier_job.h"
#include "entrypoint/modes/job.h"
#include "entrypoint/platform/bundled_model.h"
#include "entrypoint/report/transfer_log.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/open_storage.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/loop/job_directory.h"

namespace berth {
namespace {

bool is_training(Mode mode) { return mode == Mode::kTrain || mode == Mode::kTrainAndEval; }

// The model a job means when it names none.
std::string default_model(const Settings& settings) {
  if (!is_training(settings.mode)) {
    return (Uri::parse(settings.output.job_dir) / kModelFolderName).to_string();
  }
  const bool has_config = !settings.model.model_config.empty();
  const bool has_vocabulary = !settings.model.vocab_file.empty();
  const bool is_whole = has_config && (has_vocabulary || !needs_tokenizer(settings.data));
  if (is_whole && settings.model.init == Init::kRandom) return "";
  if (has_config || has_vocabulary) {
    throw Error(Code::kUsage, "--model-config and --vocab-file complete a --model", "",
                "name it, or give both files and --init random to train from scratch");
  }
  const auto bundled = find_bundled_model();
  if (!bundled) {
    throw Error(Code::kNotFound, "the bundled default model is not installed beside the program",
                "", "pass --model");
  }
  return bundled->string();
}

// Of updates with a token budget. An example alone may have more tokens than it, and one that
// begins in a micro-batch's share of the tokens is whole in it.
BatchLimits limits_of_budget(const Settings& settings, int64_t most_examples) {
  const TrainingOptions& options = settings.training;
  const int64_t parts = options.gradient_accumulation_steps, longest = settings.data.max_seq_length;
  const int64_t update = std::max(options.token_budget, longest);
  int64_t tokens = parts == 1 ? update : std::min(update, (update + parts - 1) / parts + longest);
  if (most_examples <= tokens / longest) tokens = most_examples * longest;
  const int64_t evaluated = std::min(options.examples_per_evaluation_batch(), most_examples);
  return {.tokens = std::max(tokens, evaluated * longest),
          .sequences = std::max(evaluated, std::min({options.batch_size, tokens, most_examples})),
          .recomputes = options.recompute};
}

}  // namespace

void Job::stop_point() const {
  if (stop) {
    throw Error(Code::kStopped, "stopped by a signal before the first step", "",
                "start it again with the same command");
  }
}

Machine::Machine(const CommandLine& command_line)
    : pool(command_line.settings.threads > 0 ? static_cast<int>(command_line.settings.threads)
                                             : available_threads()),
      kernels(make_cpu_kernels(pool, command_line.forced_instruction_set,
                               command_line.settings.precision)) {
  if (command_line.settings.precision != Precision::kAuto) return;
  log_info(kernels->product_dtype() == DType::kBF16
               ? "precision: bf16 in matrix products, for which this CPU has instructions"
               : "precision: fp32, since this CPU has no instructions for products of bf16");
}

BatchLimits batch_limits(const Settings& settings, bool training, int64_t most_examples) {
  const TrainingOptions& options = settings.training;
  if (training && options.token_budget > 0) return limits_of_budget(settings, most_examples);
  int64_t sequences = options.examples_per_evaluation_batch();
  if (training) sequences = std::max(sequences, options.examples_per_micro_batch());
  sequences = std::min(sequences, most_examples);
  return {.tokens = sequences * settings.data.max_seq_length,
          .sequences = sequences,
          .recomputes = options.recompute || !training};  // without a backward none is kept
}

int64_t update_tokens(const Settings& settings) {
  const TrainingOptions& options = settings.training;
  const int64_t longest = settings.data.max_seq_length;
  if (options.gradient_accumulation_steps > 1 ||
      options.optimization.optimizer != OptimizerType::kAdamW) {
    return 0;
  }
  return options.token_budget > 0 ? std::max(options.token_budget, longest)
                                  : options.batch_size * longest;
}

void run(const CommandLine& given, const Platform& platform, const std::atomic<bool>& stop,
         RunResult& reached) {
  std::atomic<bool> has_work_to_save = false;
  const auto gives_up = [&] { return stop && !has_work_to_save; };
  StorageOptions storage_options = given.storage;
  storage_options.transfer.on_progress = log_transfer;
  storage_options.http.gives_up = gives_up;
  storage_options.retry.gives_up = gives_up;
  const std::unique_ptr<Storage> storage = open_storage(storage_options);  // outlives observers
  JobOutput output(given, platform, reached);
  CommandLine command_line = given;
  const Mode mode = given.settings.mode;
  if (mode == Mode::kEval || mode == Mode::kPredict) adopt_earlier_job(*storage, command_line);
  Job job{.command_line = command_line,
          .settings = command_line.settings,
          .storage = *storage,
          .output = output,
          .reached = reached,
          .stop = stop,
          .has_work_to_save = has_work_to_save};
  for (const std::string& note : command_line.notes) log_info(note);
  const bool needs_model =
      mode != Mode::kInspect && mode != Mode::kPrepare && mode != Mode::kExportOnly;
  if (needs_model && job.settings.model.model.empty())
    job.settings.model.model = default_model(job.settings);
  switch (mode) {
    case Mode::kTrain:
    case Mode::kTrainAndEval:
      return job.settings.training.seeds > 1 ? run_seeds(job) : run_training(job);
    case Mode::kEval:
      return run_evaluation(job);
    case Mode::kPredict:
      return run_prediction(job);
    case Mode::kExportOnly:
      return run_export(job);
    case Mode::kPrepare:
      return run_preparation(job);
    case Mode::kTokenize:
      return run_tokenization(job);
    case Mode::kInspect:
      return run_inspection(job);
    case Mode::kConvert:
      return run_conversion(job);
  }
}

}  // namespace berth
