#include "entrypoint/job/export_results.h"

#include <optional>
#include <string>
#include <vector>

#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/resolve_settings.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/loop/results.h"
#include "trainer/model/architecture.h"
#include "trainer/model/config.h"
#include "trainer/model/generator.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_table.h"
#include "trainer/weights/adapters.h"
#include "trainer/weights/tensorflow_model.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

// `base_model` is the model that the adapter belongs to. Users of the adapter must load it first.
void export_adapter(Storage& storage, const Uri& directory, const ModelConfig& config,
                    const LoraOptions& lora, const std::string& base_model, DType dtype,
                    const ParameterTensors& values) {
  storage.remove(directory / kAdapterConfigFile);  // as remove_model_config() says
  store_object(storage, directory / kAdapterModelFile,
               [&](ByteSink& sink) { save_adapter(values, dtype, sink); });
  write_text(storage, directory / kAdapterConfigFile,
             to_adapter_config_json(config, lora, base_model));
}

// The thresholds of the labels in the finished model. The evaluation of this model has chosen them,
// if any has.
std::vector<double> thresholds_of_model(const DataOptions& data, const ModelConfig& config,
                                        const JobMetrics& metrics) {
  if (traits(config.task).labels != LabelKind::kSet) return {};
  if (!chooses_thresholds(data)) return prediction_rules(data, config).thresholds.given;
  if (metrics.evaluation &&
      metrics.evaluation->scores.label_thresholds.size() == config.labels.size()) {
    return metrics.evaluation->scores.label_thresholds;
  }
  log_warning(
      "no evaluation has chosen thresholds for this checkpoint, so the model predicts labels above "
      "0.5; --label-threshold of --mode predict and eval takes another number");
  return {};
}

// A name that TensorFlow lacks is found before the training, and not after it.
void require_tensorflow_names(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : parameter_table(config)) {
    if (is_exported(config, spec.name)) names.push_back(spec.name);
  }
  const auto unnamed = without_tensorflow_name(names);
  if (!unnamed) return;
  throw Error(Code::kUsage,
              cat("TensorFlow checkpoints have no place for the tensor ", quoted(*unnamed)),
              "--export-format tensorflow", "leave the flag out");
}

}  // namespace

std::string evaluated_file(const DataOptions& data) {
  if (!data.eval_data_file.empty()) return data.eval_data_file;
  return data.train_data_file.empty() ? data.data_dir : data.train_data_file;
}

void require_exportable(const Settings& settings, const ModelConfig& config) {
  const Architecture& row = architecture(config.type);
  if (settings.output.export_format == ExportFormat::kTensorflow && !row.has_tensorflow_names) {
    throw Error(Code::kUsage,
                cat("TensorFlow checkpoints have no tensor names for ", row.model_type),
                "--export-format tensorflow", "only bert and albert can be exported so");
  }
  const bool has_decoder =
      traits(config.task).labels == LabelKind::kMaskedId && !config.ties_word_embeddings;
  if (settings.output.export_format == ExportFormat::kTensorflow && has_decoder) {
    throw Error(Code::kUsage,
                "TensorFlow checkpoints have no place for a decoder that is not tied to the word "
                "embeddings (tie_word_embeddings)",
                "--export-format tensorflow", "leave the flag out");
  }
  if (settings.output.export_adapter && traits(config.task).labels == LabelKind::kMaskedId) {
    throw Error(Code::kUsage,
                "PEFT loads the head as one module, which holds the word embeddings, too",
                "--export-adapter", "leave the flag out: the merged model is exported anyway");
  }
  if (!config.dense_modules.empty() && settings.output.export_format == ExportFormat::kTensorflow) {
    throw Error(Code::kUsage, "TensorFlow checkpoints have no place for a Dense module",
                "--export-format tensorflow", "leave the flag out");
  }
  if (settings.output.export_format == ExportFormat::kTensorflow) require_tensorflow_names(config);
  if (!config.dense_modules.empty() && settings.output.export_adapter) {
    throw Error(Code::kUsage, "PEFT has no place for a Dense module that was trained along",
                "--export-adapter", "leave the flag out: the merged model is exported anyway");
  }
  if (settings.output.export_adapter && !row.has_peft_names) {
    throw Error(Code::kUsage,
                cat("PEFT has no place for adapters of ", row.title,
                    "'s matrices, which transformers names and splits otherwise"),
                "--export-adapter", "leave the flag out: the merged model is exported anyway");
  }
  if (settings.training.optimization.lora && config.conv_kernel_size > 0) {
    throw Error(Code::kUsage, "a model with a convolution cannot have adapters", "--lora-rank",
                "leave the flag out to train the whole model");
  }
  if (settings.training.optimization.lora) {
    lora_targets(config, settings.training.optimization.lora, /*layer=*/0);
  }
}

void export_results(Storage& storage, const Settings& settings, const Uri& directory,
                    const ModelDescription& model, const ParameterTensors& values,
                    const JobMetrics& metrics) {
  const OutputOptions& output = settings.output;
  const LoraOptions& lora = settings.training.optimization.lora;
  const DType dtype = output.export_dtype.value_or(DType::kF32);
  std::optional<HostTensors> merged;
  if (lora) {
    merged.emplace(parameter_table(model.config));
    merge_adapters(lora, values, *merged);
  }
  const ParameterTensors& whole = merged ? *merged : values;
  require_range(whole, dtype);
  const bool as_onnx = output.export_format == ExportFormat::kOnnx;
  ModelConfig with_thresholds = model.config;
  with_thresholds.label_thresholds = thresholds_of_model(settings.data, model.config, metrics);
  remove_model_config(storage, directory);
  if (as_onnx) {
    export_onnx(storage, directory, model.config, whole, dtype, model.tokenizer->has_token_types());
  }
  if (compares_texts(model.config)) {
    write_sentence_files(storage, directory, model.config, settings.data.max_seq_length,
                         model.sentences);
    write_dense_modules(storage, directory, model.config, whole, dtype);
  }
  if (ranks_passages(model.config.task)) {
    write_cross_encoder_files(storage, directory, model.config, settings.data.max_seq_length);
  }
  if (model.config.generator) {
    const Uri beside = directory / kGeneratorFolderName;
    remove_model_config(storage, beside);
    const GeneratorTensors own(model.config, whole);
    ModelConfig config = generator_config(model.config);
    export_model(storage, beside, config, own, dtype, *model.tokenizer, metrics);
    config.is_generator = false;  // the names in a file of its own have no prefix
    if (as_onnx) {
      export_onnx(storage, beside, config, own, dtype, model.tokenizer->has_token_types());
    }
  }
  export_model(storage, directory, with_thresholds, whole, dtype, *model.tokenizer, metrics);
  if (output.export_format == ExportFormat::kTensorflow) {
    export_tensorflow(storage, directory, model.config, whole);
  }
  if (output.export_adapter) {
    export_adapter(storage, directory / "adapter", model.config, lora, settings.model.model, dtype,
                   values);
  }
}

namespace {

ModelDescription describe(Job& job, const Settings& settings, const EarlierJob& earlier) {
  ModelFolder folder(job.storage, settings.model);
  // No rows are read here. The name of the job's data file says whether it needed a vocabulary.
  const DataOptions data{.train_data_file = earlier.settings().data.train_data_file,
                         .max_seq_length = 1};
  ModelDescription model = describe_model(folder, settings.model, data);
  model.config.task = earlier.task();
  model.config.labels = earlier.labels();
  model.config.label_thresholds.clear();  // of what the model was before
  if (earlier.has_own_decoder()) model.config.ties_word_embeddings = false;
  model.config.vector_size = earlier.vector_size();
  if (compares_texts(model.config)) {
    settle_comparison(folder, read_sentence_files(folder), settings, model);
  }
  if (ranks_passages(model.config.task)) {
    model.config.reranking.form = trained_form(settings.reranking);
  }
  settle_generator(job, settings, model.config);
  require_exportable(settings, model.config);
  if (settings.output.export_adapter && !settings.training.optimization.lora) {
    throw Error(Code::kUsage, "the job trained no adapter", "--export-adapter",
                "leave the flag out");
  }
  if (settings.output.export_adapter) warn_of_adapter_base(folder, settings.model, model.config);
  return model;
}

JobMetrics metrics_of(const EarlierJob& earlier, Task task) {
  JobMetrics metrics;
  metrics.task = task;
  metrics.dataset = evaluated_file(earlier.settings().data);
  metrics.base_model = local_or_hub_name(earlier.settings().model.model);
  return metrics;
}

}  // namespace

CheckpointExport::CheckpointExport(Job& job, const EarlierJob& earlier)
    : job_(job),
      settings_(resolve_export(job.command_line.settings, earlier)),
      model_(describe(job, settings_, earlier)),
      metrics_(metrics_of(earlier, model_.config.task)) {}

void CheckpointExport::write(CheckpointStore& checkpoints, int64_t step, const Uri& directory,
                             const std::optional<EvaluationResult>& evaluation) {
  HostTensors values(parameter_table(model_.config, settings_.training.optimization.lora));
  checkpoints.restore_parameters(step, values);
  write(values, checkpoints.step_directory(step).to_string(), step, directory, evaluation);
}

void CheckpointExport::write_best(
    CheckpointStore& checkpoints, int64_t best, const Uri& directory,
    const std::function<std::optional<EvaluationResult>(int64_t step)>& evaluation_of) {
  HostTensors values(parameter_table(model_.config, settings_.training.optimization.lora));
  const int64_t step = checkpoints.restore_best(best, INT64_MAX, values);
  write(values, checkpoints.step_directory(step).to_string(), step, directory, evaluation_of(step));
}

void CheckpointExport::write(const ParameterTensors& values, const std::string& from, int64_t step,
                             const Uri& directory,
                             const std::optional<EvaluationResult>& evaluation) {
  metrics_.evaluation = evaluation;
  export_results(job_.storage, settings_, directory, model_, values, metrics_);
  job_.progress.set_step(step);
  job_.progress.set_checkpoint(from);
  log_info(cat("exported ", from, " to ", directory.to_string()));
}

}  // namespace berth
