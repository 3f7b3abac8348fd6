#include "entrypoint/training/training_inputs.h"

#include <algorithm>

#include "entrypoint/job/export_results.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/job/training_memory.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/loop/schedule.h"

namespace berth {
namespace {

// Throws kUsage if the flags would freeze more layers than the model has, or every layer that has
// adapters.
void require_layers_to_freeze(const OptimizationOptions& options, const ModelConfig& config) {
  const int64_t layers =
      config.num_hidden_groups > 0 ? config.num_hidden_groups : config.num_hidden_layers;
  if (options.lora && options.freeze_encoder_layers >= layers) {
    throw Error(Code::kUsage, "the flag freezes every layer that has adapters",
                "--freeze-encoder-layers", "leave it or --lora-rank out");
  }
  if (options.freeze_encoder_layers <= layers) return;
  throw Error(Code::kUsage,
              cat("the model has ", counted(layers, "layer"), " of parameters, fewer than ",
                  options.freeze_encoder_layers),
              "--freeze-encoder-layers", cat("freeze at most ", layers));
}

void require_embeddings(Task task) {
  if (traits(task).labels == LabelKind::kVector) return;
  throw Error(Code::kUsage, cat("a teacher of ", task_name(task), " is not supported"), "--teacher",
              "leave it out, or give --task mlm to learn the teacher's embeddings of the texts");
}

// The rows to evaluate on: those of the evaluation file, or those that are held out. nullopt if
// there are none.
std::optional<Dataset> make_eval_set(const TrainingRows& rows, const LabelledData& examples) {
  if (rows.eval) return examples.all_rows();
  if (rows.split.held_out.empty()) return std::nullopt;
  return examples.rows(rows.split.held_out);
}

}  // namespace

ReadingOptions TrainingInputs::reading() const {
  return {.labels = rows.labels, .answers = answer_options(settings().data)};
}

TrainingInputs read_inputs(const Job& job) {
  ResolvedJob resolved = resolve_settings(job.storage, job.command_line);
  const Settings& settings = resolved.settings;
  preflight(job.storage, settings);
  auto folder = std::make_unique<ModelFolder>(job.storage, settings.model);
  ModelDescription model = describe_model(*folder, settings.model, settings.data);
  require_exportable(settings, model.config);
  require_layers_to_freeze(settings.training.optimization, model.config);
  std::optional<double>& rate = resolved.settings.training.optimization.learning_rate;
  if (!rate) rate = default_learning_rate(model.config.hidden_size);
  job.stop_point();
  expect_tokenizer(*model.tokenizer, resolved.sources);
  TrainingRows rows = load_training_rows(job.storage, settings, resolved.sources, model.config);
  model.config.task = rows.task;
  model.config.labels = rows.labels;
  job.stop_point();
  std::unique_ptr<Teacher> teacher;
  if (!settings.distillation.teacher.empty()) {
    require_embeddings(rows.task);
    teacher = std::make_unique<Teacher>(job, settings);
    model.config.vector_size = teacher->vector_size();
  }
  const size_t program = program_bytes(rows);
  return {.resolved = std::move(resolved),
          .folder = std::move(folder),
          .model = std::move(model),
          .rows = std::move(rows),
          .teacher = std::move(teacher),
          .program_bytes = program};
}

TrainingData::TrainingData(const TrainingInputs& inputs)
    : inputs_(inputs),
      train_examples_(inputs.rows.train, inputs.rows.task, inputs.rows.labels,
                      /*wants_labels=*/true, inputs.settings(), *inputs.model.tokenizer,
                      inputs.rows.class_weights),
      eval_examples_(inputs.rows.eval ? *inputs.rows.eval : inputs.rows.train, inputs.rows.task,
                     inputs.rows.labels, /*wants_labels=*/true, inputs.settings(),
                     *inputs.model.tokenizer),
      train_(train_examples_.rows(inputs.rows.split.train)),
      eval_(make_eval_set(inputs.rows, eval_examples_)) {}

void TrainingData::ask_teacher() {
  if (!inputs_.teacher) return;
  const TrainingRows& rows = inputs_.rows;
  std::vector<uint32_t> asked = rows.split.train;
  if (!rows.eval) {
    asked.insert(asked.end(), rows.split.held_out.begin(), rows.split.held_out.end());
    std::ranges::sort(asked);
  }
  train_targets_.emplace(inputs_.teacher->embeddings(rows.train, std::move(asked)));
  train_.set_targets(*train_targets_);
  if (!eval_) return;
  if (rows.eval) {
    eval_targets_.emplace(inputs_.teacher->embeddings(*rows.eval, all_rows(*rows.eval)));
  }
  eval_->set_targets(rows.eval ? *eval_targets_ : *train_targets_);
}

}  // namespace berth
