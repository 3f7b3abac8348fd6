#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/export_results.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/output_locks.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/training/finished_job.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/converted_tensors.h"
#include "storage/formats/safetensors.h"
#include "storage/storage.h"
#include "storage/whole_file.h"
#include "trainer/inputs/load_model.h"
#include "trainer/inputs/model_folder.h"
#include "trainer/inputs/options.h"
#include "trainer/inputs/parameter_files.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/results.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_table.h"
#include "trainer/model/parameter_tensors.h"
#include "trainer/tasks/glue.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/text/tokenizer.h"
#include "trainer/weights/pretrained.h"
#include "trainer/weights/tensorflow_model.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

// A model that is to be written as model.onnx with its config.json.
class OnnxConversion {
 public:
  // Reads the model of `folder` and writes nothing. The task decides the graph's outputs. It is
  // --task, or else the task for which the model was saved. A model without a task becomes an
  // encoder without a head. Throws kUsage if the model cannot be exported in this way, and
  // kNotFound if it has no parameters. Throws kBadData if the parameters do not fit the model or
  // --export-dtype.
  OnnxConversion(const Settings& settings, ModelFolder& folder);

  void write(Storage& storage, const Uri& directory) const;

  // Whether write() makes the files of sentence-transformers. A CrossEncoder with several outputs
  // keeps its own.
  bool writes_sentence_files() const { return !scores_ || ranks_passages(config_.task); }

  // Whether the tokenizer's token types are an input of the graph. nullopt: berth reads no
  // tokenizer.
  std::optional<bool> gives_types() const {
    return gives_types_ ? std::optional(*gives_types_ && config_.has_token_types()) : std::nullopt;
  }

 private:
  const DType dtype_;
  const std::optional<CrossEncoderFiles> scores_;
  const std::string given_config_;
  const SentenceFiles files_;
  const ModelConfig config_;
  const std::optional<bool> gives_types_;
  HostTensors values_;
};

std::optional<Task> named_task(const std::string& name) {
  const GlueTask* glue = find_glue_task(name);
  return glue != nullptr ? std::optional(glue->task) : find_task(name);
}

// The folder's settings for embeddings. If berth cannot compute a model's embeddings, the graph is
// only its encoder.
SentenceFiles sentence_files(ModelFolder& folder) {
  try {
    return read_sentence_files(folder);
  } catch (const Error& error) {
    if (error.code() != Code::kUsage) throw;
    log_warning(cat(error.what(), "; the graph has no embeddings of texts"));
    return {};
  }
}

ModelConfig config_for_graph(const Settings& settings, ModelFolder& folder,
                             const SentenceFiles& files,
                             const std::optional<CrossEncoderFiles>& scores) {
  ModelConfig config;
  try {
    config = parse_config(folder.config_json());
  } catch (const Error& error) {
    throw error.at(folder.name() + ": its configuration");
  }
  std::optional<Task> task = named_task(settings.data.task);
  if (scores && !task && config.saved_task == Task::kRegression) task = Task::kReranking;
  if (scores) config.reranking.form = scores->form;
  if (!task) task = files.is_there ? Task::kTextEmbedding : config.saved_task;
  config.task = task.value_or(Task::kHiddenStates);
  std::vector<std::string> rules;
  resolve_decoder(folder, settings.model, config, rules);
  if (makes_embeddings(config.task)) settle_embedding(files, settings.embedding, config);
  const TaskTraits& row = traits(config.task);
  if (!row.has_classes) config.labels = output_labels(config.task);
  // transformers saves no names of two labels that have none.
  if (row.has_classes && config.labels.empty()) config.labels = {"LABEL_0", "LABEL_1"};
  require_exportable(settings, config);
  return config;
}

// Whether the folder's tokenizer gives token types. nullopt: berth reads no tokenizer there.
std::optional<bool> gives_types(ModelFolder& folder) {
  try {
    return load_tokenizer([&](std::string_view name) { return folder.text(name); })
        ->has_token_types();
  } catch (const Error&) {
    return std::nullopt;
  }
}

OnnxConversion::OnnxConversion(const Settings& settings, ModelFolder& folder)
    : dtype_(settings.output.export_dtype.value_or(DType::kF32)),
      scores_(read_cross_encoder_files(folder)),
      given_config_(folder.config_json()),
      files_(scores_ ? SentenceFiles() : sentence_files(folder)),
      config_(config_for_graph(settings, folder, files_, scores_)),
      gives_types_(berth::gives_types(folder)),
      values_(parameter_table(config_)) {
  fill_parameters(folder, settings.model, config_, /*seed=*/0, compute_threads(settings), values_,
                  HeadNeed::kRequired);
  require_range(values_, dtype_);
}

// `json` with the function of a CrossEncoder's scores, which `given` may have.
std::string with_function(const std::string& json, const std::string& given) {
  const OrderedJson from = parse_ordered_json(given);
  OrderedJson object = parse_ordered_json(json);
  for (const char* key : {"sentence_transformers", "sbert_ce_default_activation_function"}) {
    if (from.contains(key) && !object.contains(key)) object[key] = from[key];
  }
  return to_text(object, 2) + "\n";
}

void OnnxConversion::write(Storage& storage, const Uri& directory) const {
  if (makes_embeddings(config_.task)) {
    write_sentence_files(storage, directory, config_,
                         files_.max_seq_length.value_or(config_.max_sequence_length()), files_);
    write_dense_modules(storage, directory, config_, values_, dtype_);
  }
  if (scores_ && ranks_passages(config_.task)) {
    write_cross_encoder_files(storage, directory, config_,
                              scores_->max_seq_length.value_or(config_.max_sequence_length()));
  }
  export_onnx(storage, directory, config_, values_, dtype_, gives_types_.value_or(true));
  const std::string json = to_config_json(config_, dtype_);
  write_text(storage, directory / kConfigFile, scores_ ? with_function(json, given_config_) : json);
  log_info(cat("the graph is for ", task_name(config_.task)));
}

constexpr const char* kTokenizerConfig = "tokenizer_config.json";

// The files that belong to the model in every format: its tokenizer's, its card and its licence.
constexpr std::string_view kKeptFiles =
    "vocab.txt tokenizer_config.json special_tokens_map.json added_tokens.json tokenizer.json "
    "vocab.json merges.txt spiece.model sentencepiece.bpe.model sentencepiece.model spm.model "
    "tokenizer.model README.md LICENSE LICENSE.txt NOTICE";

void write_safetensors_to(Storage& storage, const Uri& uri, std::span<const NamedTensor> given) {
  // Wider types come first, so that each tensor is aligned.
  std::vector<NamedTensor> tensors(given.begin(), given.end());
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return size_of(a.dtype) > size_of(b.dtype);
  });
  uint64_t bytes = 0;
  for (const NamedTensor& tensor : tensors) bytes += tensor.data.size();
  store_object(storage, uri,
               [&](ByteSink& sink) {
                 lend_safetensors(sink, tensors, {{"format", "pt"}});
               },
               {.if_generation = {}, .size_hint = bytes});
}

// The config.json `json`, changed only where the transformers library needs it to load the tensors.
std::string config_of(const std::string& json, std::optional<DType> dtype) {
  OrderedJson object = parse_ordered_json(json);
  if (!object.is_object() || (object.contains("model_type") && !dtype)) return json;
  if (!object.contains("model_type")) {  // a bert_config.json
    object["model_type"] = model_type_name(parse_config(json).type);
  }
  if (dtype) {
    object.erase("torch_dtype");
    object["dtype"] = torch_dtype_name(*dtype);
  }
  return to_text(object, 2) + "\n";
}

// The parameters that the file of a model may have: of its encoder, of a classifier, and of the
// head of its class.
std::vector<ParameterSpec> known_parameters(ModelConfig config) {
  const Task saved = config.saved_task.value_or(Task::kHiddenStates);
  if (config.labels.empty()) config.labels = {"LABEL_0", "LABEL_1"};
  config.task = kDefaultTask;
  std::vector<ParameterSpec> specs = parameter_table(config);
  config.task = saved;
  for (ParameterSpec& spec : parameter_table(config)) {
    const bool is_new = std::ranges::find(specs, spec.name, &ParameterSpec::name) == specs.end();
    if (is_new) specs.push_back(std::move(spec));
  }
  return specs;
}

// The tensors of `parameters` under names that other programs know. Tells what it leaves out.
std::unique_ptr<RenamedTensors> renamed(const ModelParameters& parameters,
                                        const ModelConfig& config, NamesAs as) {
  std::unique_ptr<RenamedTensors> tensors;
  try {
    tensors = std::make_unique<RenamedTensors>(*parameters.tensors, known_parameters(config), as);
  } catch (const Error& error) {
    throw error.at(parameters.file);
  }
  if (tensors->has_wrappers()) {
    log_info(cat("the prefixes and wrappers in the names of ", parameters.file, " are taken off"));
  }
  const std::vector<std::string>& others = tensors->left_out();
  if (!others.empty()) {
    log_warning(cat(parameters.file, ": ", counted(others.size(), "tensor"), " without the prefix ",
                    quoted(tensors->prefix()), " ", others.size() == 1 ? "is" : "are",
                    " left out (", others.front(), others.size() > 1 ? ", ..." : "", ")"));
  }
  return tensors;
}

// The configuration of the folder. nullopt, with a warning, where berth does not know the model.
std::optional<ModelConfig> known_config(ModelFolder& folder) {
  try {
    return parse_config(folder.config_json());
  } catch (const Error& error) {
    if (error.code() == Code::kNotFound) throw;
    log_warning(
        cat("berth does not know this model, and copies its tensors under the names that "
            "they have: ",
            error.at(folder.name() + ": its configuration").what()));
    return std::nullopt;
  }
}

// The files of a model in one format. They are made before the first of them is written, so that a
// model that cannot be converted leaves none.
class ConvertedModel {
 public:
  ConvertedModel(const Settings& settings, ModelFolder& folder, const ModelParameters& parameters)
      : format_(settings.output.export_format) {
    const std::optional<DType> dtype = settings.output.export_dtype;
    switch (format_) {
      case ExportFormat::kOnnx:
        onnx_.emplace(settings, folder);
        break;
      case ExportFormat::kTensorflow: {
        const ModelConfig config = parse_config(folder.config_json());
        renamed_ = renamed(parameters, config, NamesAs::kOfParameters);
        tensors_.emplace(*renamed_);
        variables_.emplace(tensors_->tensors());
        config_ = to_bert_config_json(config);
        if (!config.label_thresholds.empty()) {
          log_warning(cat(kBertConfigFile,
                          " has no place for the thresholds of labels (label_thresholds); "
                          "--label-threshold of --mode predict and eval gives a number"));
        }
        break;
      }
      case ExportFormat::kSafetensors:
        if (const auto config = known_config(folder)) {
          renamed_ = renamed(parameters, *config, NamesAs::kInFile);
        }
        tensors_.emplace(renamed_ ? *renamed_ : *parameters.tensors, dtype);
        config_ = config_of(folder.config_json(), dtype);
    }
  }

  bool writes_sentence_files() const { return onnx_ && onnx_->writes_sentence_files(); }

  // `content` of the tokenizer's tokenizer_config.json, with the inputs that a graph has.
  std::optional<std::string> tokenizer_config(std::optional<std::string> content) const {
    const std::optional<bool> gives_types = onnx_ ? onnx_->gives_types() : std::nullopt;
    if (!gives_types) return content;
    return with_input_names(content.value_or("{}"), *gives_types);
  }

  // The number of tensors, which are all of `file` in ONNX.
  size_t size(const TensorReader& file) const {
    return tensors_ ? tensors_->tensors().size() : file.tensors().size();
  }

  void write(Storage& storage, const Uri& directory) const {
    switch (format_) {
      case ExportFormat::kOnnx:
        return onnx_->write(storage, directory);
      case ExportFormat::kTensorflow:
        write_checkpoint(storage, directory / "bert_model.ckpt", *variables_);
        return write_text(storage, directory / kBertConfigFile, config_);
      case ExportFormat::kSafetensors:
        write_safetensors_to(storage, directory / "model.safetensors", tensors_->tensors());
        write_text(storage, directory / kConfigFile, config_);
    }
  }

 private:
  const ExportFormat format_;
  std::optional<OnnxConversion> onnx_;  // for ONNX
  // For the other formats. renamed_ is null where berth does not know the model.
  std::unique_ptr<RenamedTensors> renamed_;
  std::optional<ConvertedTensors> tensors_;
  std::optional<TensorflowVariables> variables_;
  std::string config_;
};

// Converts the model that `asked.model` names.
void convert_model(Job& job, const Settings& asked) {
  Storage& storage = job.storage;
  Settings settings = asked;
  settings.model.model = local_or_hub_model(storage, asked.model.model);
  if (settings.output.export_adapter) {
    throw Error(Code::kUsage, "a finished model has no adapter to export", "--export-adapter",
                "give the --job-dir of a LoRA job whose checkpoints are still there");
  }
  preflight(storage, settings);
  const Uri directory = Uri::parse(settings.output.export_dir);
  ModelFolder folder(storage, settings.model);
  const std::optional<ModelParameters> parameters = folder.parameters();
  if (!parameters) throw Error(Code::kNotFound, "the model has no parameters", folder.name());
  parameters->verify();
  const TensorReader& file = *parameters->tensors;
  if (file.tensors().empty()) {
    throw Error(Code::kBadData, "holds no tensor of numbers", parameters->file,
                "name another file, or fetch it again");
  }
  try {
    require_plain_weights(file);
  } catch (const Error& error) {
    throw error.at(parameters->file);
  }
  const ConvertedModel converted(settings, folder, *parameters);
  const OutputLocks lock(directory, job.fences, job.stop);
  // As remove_model_config() says. But a model that is converted in its own folder keeps its
  // labels. A TensorFlow checkpoint may lie beside another model, whose config.json stays.
  const bool as_tensorflow = settings.output.export_format == ExportFormat::kTensorflow;
  for (const std::string name : {kConfigFile, kBertConfigFile}) {
    if (as_tensorflow && name == kConfigFile) continue;
    if (read_text(storage, directory / name) != folder.text(name)) storage.remove(directory / name);
  }
  for (const std::string& name : parted(kKeptFiles, " ")) {
    std::optional<std::string> text = folder.text(name);
    if (name == kTokenizerConfig) text = converted.tokenizer_config(std::move(text));
    if (text) write_text(storage, directory / name, *text);
  }
  if (!converted.writes_sentence_files()) {
    copy_sentence_files(folder, storage, directory);
  }
  converted.write(storage, directory);
  log_info(cat("converted ", counted(converted.size(file), "tensor"), " of ", parameters->file,
               " to ", directory.to_string()));
}

}  // namespace

void run_conversion(Job& job) { convert_model(job, job.command_line.settings); }

void run_export(Job& job) {
  const Settings& asked = job.command_line.settings;
  const OutputOptions& output = asked.output;
  if (output.job_dir.empty()) return run_conversion(job);  // --model is exported
  const Uri directory = Uri::parse(output.job_dir);
  // On Vertex AI there always is a job directory, but it may be empty.
  const std::optional<EarlierJob> earlier = EarlierJob::find(job.storage, directory);
  if (!earlier && !asked.model.model.empty()) return run_conversion(job);
  if (!earlier) {
    throw Error(Code::kNotFound, "there is no job.json, so no job was here", directory.to_string(),
                "give the --job-dir of a job, or --model alone");
  }
  const std::string& elsewhere = output.checkpoint_dir;
  CheckpointStore checkpoints(
      job.storage, elsewhere.empty() ? earlier->checkpoints() : Uri::parse(elsewhere), 0);
  if (const std::optional<int64_t> step = checkpoints.preferred_step()) {
    preflight(job.storage, asked);
    const Uri to = Uri::parse(output.export_dir);
    CheckpointExport model(job, *earlier);
    const OutputLocks lock(to, job.fences, job.stop);
    return model.write_best(checkpoints, *step, to, [&](int64_t taken) {
      return evaluation_of_step(job.storage, *earlier, taken, *step);
    });
  }
  // The checkpoints may have been deleted after the job finished.
  Settings settings = asked;
  settings.model.model = earlier->model().to_string();
  convert_model(job, settings);
}

}  // namespace berth
