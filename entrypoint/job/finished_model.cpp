#include "entrypoint/job/finished_model.h"

#include <algorithm>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/job/prompts.h"
#include "entrypoint/job/retrieval.h"
#include "entrypoint/job/training_memory.h"
#include "entrypoint/memory/memory_budget.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/features.h"
#include "trainer/data/joined_documents.h"
#include "trainer/inputs/job_record.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/text/tokenizer.h"

namespace berth {
namespace {

// Takes the task from the model's configuration, because rows to predict may have no labels from
// which it could be inferred.
void complete_task(const DataSources& sources, const std::string& model, ModelConfig& config) {
  config.task = sources.task.value_or(config.saved_task.value_or(kDefaultTask));
  const bool has_classes = traits(config.task).has_classes;
  if (!has_classes) config.labels = output_labels(config.task);
  require_use_of_names(sources, config.task);
  const size_t known = config.labels.size();
  if (sources.labels_are_given && known > 0 && sources.labels.size() != known) {
    throw Error(
        Code::kUsage,
        cat(counted(sources.labels.size(), "name"), " for a model of ", counted(known, "output")),
        "--label-names", "give one for each, in their order");
  }
  // TensorFlow's configuration has no label names.
  if (config.labels.empty() || sources.labels_are_given) config.labels = sources.labels;
  if (config.labels.empty() && has_classes) {
    throw Error(Code::kUsage, "the model's configuration names no labels (id2label)", model,
                "name the classes with --label-names, or give a model that was fine-tuned");
  }
}

// Reads a model that makes embeddings. A text is cut where sentence-transformers would cut it,
// unless a flag or an earlier job says otherwise.
ModelDescription describe_embedder(ModelFolder& folder, const CommandLine& command_line,
                                   ResolvedJob& resolved) {
  Settings& settings = resolved.settings;
  const SentenceFiles files = read_sentence_files(folder);
  const bool is_of_job = resolved.is_of_job && !files.is_there;
  const bool keeps_length = command_line.gives("max-seq-length") || is_of_job;
  DataOptions data = settings.data;
  if (!keeps_length) data.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, data);
  if (!files.is_there && model.config.saved_task == Task::kRegression) {
    log_warning(cat(folder.name(),
                    ": the model scores texts, as cross-encoders do, and was not trained to make "
                    "vectors of them"));
  }
  if (!keeps_length) {
    const int64_t positions = model.config.max_sequence_length();
    settings.data.max_seq_length =
        static_cast<int32_t>(std::min(files.max_seq_length.value_or(positions), positions));
  }
  settle_embedding(files, settings.embedding, model.config);
  if (settings.mode == Mode::kMine) {
    warn_of_whole_vectors(files, settings.embedding, model.config);
  }
  use_sentence_files(folder, settings.model, with_prompts(files, settings.embedding), model);
  if (settings.mode == Mode::kEmbed) settle_prompt_to_embed(files, settings.embedding);
  resolved.sources.task = Task::kTextEmbedding;
  return model;
}

bool is_of_groups(Task task) { return traits(task).rows == HeadRows::kGroups; }

// Cuts texts where sentence-transformers would, and pairs where CrossEncoder would.
void use_length(std::optional<int64_t> files, Settings& settings, const ModelConfig& config) {
  const int64_t positions = config.max_sequence_length();
  settings.data.max_seq_length =
      static_cast<int32_t>(std::min(files.value_or(positions), positions));
}

ModelDescription describe(ModelFolder& folder, const CommandLine& command_line,
                          ResolvedJob& resolved) {
  const Settings& settings = resolved.settings;
  if (traits(settings.mode).makes_vectors) {
    return describe_embedder(folder, command_line, resolved);
  }
  const bool asks_length = resolved.is_of_job || asks_for_length(command_line, settings);
  ModelDescription model =
      describe_fitting_model(folder, command_line, resolved.settings, resolved.is_of_job);
  // What a model of sentence-transformers can do besides is to compare texts.
  std::optional<Task>& task = resolved.sources.task;
  const auto cross_encoder = read_cross_encoder_files(folder);
  if (cross_encoder && !task && model.config.saved_task == Task::kRegression) {
    task = Task::kReranking;
  }
  if (task && ranks_passages(*task)) {
    if (cross_encoder) model.config.reranking.form = cross_encoder->form;
    const auto length = cross_encoder ? cross_encoder->max_seq_length : tokenizer_length(folder);
    if (!asks_length) use_length(length, resolved.settings, model.config);
  }
  const bool may_compare = !model.config.saved_task && (!task || is_of_groups(*task));
  if (!may_compare) return model;
  const SentenceFiles files = read_sentence_files(folder);
  const bool searches = !settings.data.eval_retrieval.empty();
  if (!task && (files.is_there || searches)) task = Task::kSimilarity;
  if (task && is_of_groups(*task)) {
    settle_comparison(folder, files, settings, model);
    take_default_prompt(model.sentences, resolved.settings.embedding);
    if (!asks_length && files.is_there) use_length_of(files, resolved.settings, model);
    if (!asks_length && !files.is_there) {
      use_length(files.max_seq_length, resolved.settings, model.config);
    }
  } else {
    settle_embedding(files, settings.embedding, model.config);
  }
  return model;
}

// Throws kIncompatible where a worker has read other rows or another model than this one. The
// parameters are worker 0's.
void require_same_inputs(Communicator& ranks, const LoadedTable& loaded,
                         const ModelDescription& model, const DataOptions& data) {
  const JobRecord read{.sources = loaded.sources, .labels = model.config.labels};
  const uint32_t tokenizer = needs_tokenizer(data) ? tokenizer_checksum(*model.tokenizer) : 0;
  require_same_on_workers(
      ranks, cat(job_identity(read), " ", tokenizer, " ", to_config_json(model.config)));
}

// Throws kIncompatible where the rows to evaluate on are read by a rule that the version may not
// have had which began the job.
void require_no_new_rule(const LoadedTable& loaded) {
  for (const Finding& found : loaded.findings) {
    if (found.rule.empty()) continue;
    throw Error(Code::kIncompatible,
                cat("an earlier version of berth began the job, and may have read its labels "
                    "in another way than this version: ",
                    found.rule),
                loaded.name,
                "evaluate with that version, or say how labels are written by --label-lists or "
                "--label-separator");
  }
}

Storage& checked_storage(const DataPaths& paths, const Settings& settings,
                         const std::string& results) {
  preflight(paths, settings);
  require_own_place(paths, settings, results);
  return paths.storage();
}

}  // namespace

FinishedModel::FinishedModel(Job& job)
    : job_(job),
      paths_(job.storage),
      resolved_(resolve_settings(paths_, job.command_line)),
      folder_(checked_storage(paths_, settings(), job.command_line.tool.predictions_file),
              settings().model),
      model_(describe(folder_, job.command_line, resolved_)) {
  complete_task(sources(), name(), model_.config);
  resolve_decoder(folder_, settings().model, model_.config, model_.tokenizer_rules);
  generator_ = finished_generator(job, settings(), model_.config);
  heed_flags_of_model(job.command_line, model_.config.task);
  require_device(job.command_line, job.device.kind, model_.config.task);
  program_bytes_ = program_bytes();
  device_ = make_device(job);  // after that, because it knows itself what a plugin takes
}

LoadedTable FinishedModel::load(DataRequest request) {
  request.rules.task = config().task;
  request.known_tags = config().labels;
  request.rules.token_limits = token_limits(config());
  request.rules.tokenizer_checksum = [&] { return tokenizer_checksum(*model_.tokenizer); };
  LoadedTable loaded = load_table(paths_, request);
  if (holds_masked(*loaded.table)) {
    require_no_masking(job_.command_line, [](std::string_view, std::string_view) { return false; });
  }
  if (resolved_.labels_are_unrecorded && request.rules.need == LabelNeed::kRequired) {
    require_no_new_rule(loaded);
  }
  if (resolved_.lacks_space_rule && traits(config().task).inputs == InputKind::kWords &&
      has_word_behind_space(*loaded.table, *model_.tokenizer)) {
    log_warning(cat(loaded.name,
                    ": some words, such as punctuation, have a first token for their space alone, "
                    "which gets the tag. The job was trained without such words, or by a version "
                    "of berth that tagged the next token; if so, train it again"));
  }
  if (resolved_.scores && request.rules.need == LabelNeed::kRequired) {
    const std::string scales =
        other_scale(loaded.name, loaded.scale, "the rows that the job was trained on",
                    ScoreScale(*resolved_.scores));
    if (!scales.empty()) log_warning(scales);
  }
  settle_groups(loaded, settings(), model_.config);
  if (job_.ranks != nullptr) require_same_inputs(*job_.ranks, loaded, model_, settings().data);
  return loaded;
}

void FinishedModel::join(LoadedTable& loaded) {
  int64_t& sequences = resolved_.settings.data.sequences_per_block;
  sequences = std::max(sequences, join_rows(settings(), *model_.tokenizer, config().task, loaded));
  int64_t& masked = resolved_.settings.data.most_masked;
  masked = std::max(masked, most_masked(*loaded.table));
}

Engine& FinishedModel::engine_for(const LoadedTable& loaded, Dataset& data) {
  const DataMemory memory{.program = program_bytes_,
                          .tables = loaded.table->memory_bytes() + data.memory_bytes(),
                          .most_examples = data.size()};
  require_inference_memory(settings(), config(), memory, *device_);
  const EngineOptions options = inference_engine(settings(), config(), data.size());
  if (!engine_ || options.limits.sequences > sequences_) make_engine(options);
  return *engine_;
}

FinishedModel::Search FinishedModel::search(const RetrievalSet& set) {
  if (job_.ranks != nullptr) {
    require_same_on_workers(*job_.ranks,
                            cat(job_identity({.sources = set.sources()}), " ",
                                tokenizer_checksum(*model_.tokenizer), " ", set.split()));
  }
  const DataMemory memory{.program = program_bytes_,
                          .tables = set.memory_bytes(),
                          .most_examples = std::ssize(set.queries()) + std::ssize(set.places())};
  require_inference_memory(settings(), config(), memory, *device_);
  EngineOptions options = inference_engine(settings(), config(), memory.most_examples);
  // A batch of short texts holds more of them, and takes hardly more memory.
  constexpr int64_t kShortText = 8;
  options.limits.sequences = std::max(options.limits.sequences, options.limits.tokens / kShortText);
  make_engine(options);
  sequences_ = 0;  // for engine_for(), whose batches may have more tokens
  return {*engine_, retrieval_reading(model_, settings(), options.limits, set)};
}

void FinishedModel::compute_in_fp32() {
  engine_.reset();  // It borrows the device.
  device_ = make_host_device(job_, Precision::kFp32);
}

void FinishedModel::make_engine(const EngineOptions& options) {
  engine_.reset();  // Frees its memory before another one takes it.
  engine_ = device_->make_engine(options);
  sequences_ = options.limits.sequences;
  ParameterTensors& values = engine_->tensors(StateTensors::kValues);
  if (job_.leads()) fill(values);
  if (job_.ranks != nullptr) share_tensors(*job_.ranks, values);
  engine_->tensors_written();
}

void FinishedModel::fill(ParameterTensors& values) {
  const int threads = compute_threads(settings());
  fill_parameters(folder_, settings().model, config(), settings().training.seed, threads, values,
                  HeadNeed::kRequired);
  if (generator_) fill_generator(*generator_, config(), threads, values);
}

void throw_stopped() {
  throw Error(Code::kStopped, "a signal stopped the job", "",
              "start it again with the same command");
}

}  // namespace berth
