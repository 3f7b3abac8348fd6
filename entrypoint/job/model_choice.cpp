#include "entrypoint/job/model_choice.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/flags/similarity_rules.h"
#include "entrypoint/job/prompts.h"
#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/http/http_client.h"
#include "storage/hub/hub_path.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/model_folder.h"
#include "trainer/model/architecture.h"
#include "trainer/model/generator.h"
#include "trainer/text/load_tokenizer.h"
#include "trainer/weights/pretrained.h"

namespace berth {
namespace {

// Endings of names that are files and never models of the hub.
constexpr std::string_view kFileEndings[] = {".safetensors", ".bin",  ".pt",  ".pth",
                                             ".ckpt",        ".json", ".txt", ".index"};

bool looks_like_file(std::string_view name) {
  return is_archive(name) ||
         std::any_of(std::begin(kFileEndings), std::end(kFileEndings),
                     [name](std::string_view ending) { return name.ends_with(ending); });
}

// Whether the name, or the folder that it would lie in, exists here. In the second case the name is
// a misspelt path.
bool is_local(const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path first = *std::filesystem::path(name).begin();
  return std::filesystem::exists(first, ignored) || std::filesystem::exists(name, ignored);
}

}  // namespace

std::string local_or_hub_name(const std::string& name) {
  const std::optional<std::string> uri = hub_uri_of(name);
  return !uri || looks_like_file(name) || is_local(name) ? name : *uri;
}

std::string local_or_hub_model(Storage& storage, const std::string& name) {
  std::string uri = local_or_hub_name(name);
  if (uri == name) return name;
  constexpr size_t kOne = 1;
  try {
    storage.list(Uri::parse(uri), kOne);
  } catch (const Error& error) {
    const bool is_unavailable = error.code() == Code::kUnavailable;
    if (error.code() != Code::kNotFound && !is_unavailable) throw;
    const bool may_come = is_unavailable && error.problem().find(kUnknownHost) == std::string::npos;
    throw Error(may_come ? Code::kUnavailable : Code::kNotFound,
                cat("there is no such folder here, and ", error.problem()), name, error.hint());
  }
  log_info(cat(name, " is not a folder here, but of the Hugging Face hub: ",
               HubPath::parse(Uri::parse(uri)).repository_uri()));
  return uri;
}

std::unique_ptr<Tokenizer> open_tokenizer(Storage& storage, const ModelOptions& options) {
  ModelFolder folder(storage, options, ModelNeed::kTokenizer);
  try {
    return load_tokenizer([&](std::string_view name) { return folder.text(name); },
                          {.do_lower_case = options.do_lower_case});
  } catch (const Error& error) {
    if (error.code() == Code::kNotFound && !error.where().empty()) throw;  // it names a file
    throw error.at(
        Uri::parse(options.model.empty() ? options.vocab_file : options.model).to_string());
  }
}

namespace {

constexpr const char* kTokenizerRule = "model_max_length counts";

}  // namespace

bool asks_for_length(const CommandLine& command_line, const Settings& settings) {
  return command_line.gives("max-seq-length") ||
         settings.data.max_seq_length != DataOptions().max_seq_length;
}

ModelDescription describe_fitting_model(ModelFolder& folder, const CommandLine& command_line,
                                        Settings& settings, bool is_of_job) {
  int32_t& length = settings.data.max_seq_length;
  if (asks_for_length(command_line, settings)) {
    return describe_model(folder, settings.model, settings.data);
  }
  DataOptions any_length = settings.data;
  any_length.max_seq_length = kShortestSequence;
  ModelDescription model = describe_model(folder, settings.model, any_length);
  const int64_t positions = model.config.max_sequence_length();
  if (positions < length) {
    length = static_cast<int32_t>(positions);
    log_info(cat("--max-seq-length ", positions, ", because the model has no more positions"));
  }
  const std::optional<int64_t> most = is_of_job ? std::nullopt : tokenizer_length(folder);
  if (most && *most < length) {
    length = static_cast<int32_t>(*most);
    model.tokenizer_rules.emplace_back(kTokenizerRule);
    log_info(cat("--max-seq-length ", *most,
                 ", because tokenizer_config.json says so (model_max_length)"));
  }
  return model;
}

void use_length_of(const SentenceFiles& files, Settings& settings, ModelDescription& model) {
  if (!files.is_there) return;
  int32_t& length = settings.data.max_seq_length;
  const int64_t positions = model.config.max_sequence_length();
  const int64_t own = std::min(files.max_seq_length.value_or(positions), positions);
  std::erase(model.tokenizer_rules, kTokenizerRule);
  const int64_t before = std::min<int64_t>(DataOptions().max_seq_length, positions);
  if (own != before) model.tokenizer_rules.emplace_back("max_seq_length of the folder counts");
  if (own == length) return;
  length = static_cast<int32_t>(own);
  log_info(cat("--max-seq-length ", own,
               ", as the model's files of sentence-transformers say (max_seq_length)"));
}

bool compares_texts(const ModelConfig& config) {
  return traits(config.task).rows == HeadRows::kGroups;
}

void settle_embedding(const SentenceFiles& files, const EmbeddingOptions& asked,
                      ModelConfig& config) {
  config.pooling = asked.pooling.value_or(files.pooling.value_or(Pooling::kMean));
  config.normalizes_embeddings = asked.normalizes.value_or(files.normalizes);
  config.dense_modules = files.dense;
  int64_t numbers = config.hidden_size;
  for (const DenseModule& module : config.dense_modules) {
    if (module.inputs != numbers) {
      throw Error(Code::kBadData,
                  cat("\"in_features\" is ", module.inputs, ", and the module before it gives ",
                      numbers, " numbers"),
                  cat(module.folder, "/config.json"));
    }
    numbers = module.outputs;
  }
}

void warn_of_whole_vectors(const SentenceFiles& files, const EmbeddingOptions& asked,
                           const ModelConfig& config) {
  const int64_t numbers = config.embedding_dimension();
  if (!files.truncate_dim || *files.truncate_dim >= numbers || asked.truncate_dim) return;
  log_warning(cat("texts are compared by all ", numbers,
                  " numbers of their vectors; encode() compares the first ", *files.truncate_dim,
                  " (truncate_dim)"));
}

void settle_comparison(ModelFolder& folder, const SentenceFiles& files, const Settings& settings,
                       ModelDescription& model) {
  if (!files.similarity.empty() && files.similarity != "cosine") {
    throw Error(Code::kUsage,
                cat("similarity_fn_name is ", quoted(files.similarity),
                    "; berth compares texts by the cosine"),
                folder.name() + "/config_sentence_transformers.json",
                "--mode embed writes the vectors, which any function can compare");
  }
  settle_embedding(files, settings.embedding, model.config);
  warn_of_whole_vectors(files, settings.embedding, model.config);
  use_sentence_files(folder, settings.model, with_prompts(files, settings.embedding), model);
}

namespace {

// The sequences of a row whose first text makes a pair with each of the others.
int64_t pairs_of(const LoadedTable& loaded) {
  return static_cast<int64_t>(loaded.table->read(0).texts.size()) - 1;
}

// The loss of a cross-encoder, and the pairs of a row. Rows have the usual loss where they lack
// what the model was trained on: passages to compare, or a teacher's scores. Throws kBadData where
// rows have one passage, and the loss compares passages or nothing says that a passage is wrong.
void settle_reranking(const LoadedTable& loaded, const Settings& settings, ModelConfig& config) {
  RerankingLoss loss = settings.reranking.loss.value_or(RerankingObjective().loss);
  const bool has_labels = traits(loaded.task).has_label_column;
  const bool lacks_scores = learns_scores(loss) && loaded.table->read(0).text_scores.empty();
  if ((has_labels && compares_passages(loss)) || lacks_scores) {
    loss = RerankingLoss::kBinaryCrossEntropy;
  }
  config.task = loaded.task;
  config.reranking.loss = loss;
  config.reranking.positive_weight = settings.reranking.positive_weight;
  if (traits(settings.mode).trains()) config.reranking.form = trained_form(settings.reranking);
  if (settings.mode == Mode::kPredict) return;
  const int64_t pairs = pairs_of(loaded);
  config.expect_texts(pairs);
  if (pairs > 1 || (has_labels && !compares_passages(loss))) return;
  throw Error(Code::kBadData,
              compares_passages(loss)
                  ? "the loss compares the passages of a row, and the rows have one"
                  : "the rows have one passage each and no label, so every passage is right",
              loaded.name,
              "add columns \"negative_1\" and so on, which --mode mine finds, or a column of "
              "labels with --reranking-loss bce");
}

// Says where a finished model is scored by another loss than it was trained by.
void say_other_loss(const Settings& settings, SimilarityLoss loss) {
  const std::optional<SimilarityLoss>& trained = settings.embedding.loss;
  if (settings.mode != Mode::kEval || !trained || *trained == loss) return;
  const bool needs_teacher = learns_scores(*trained) || learns_embeddings(*trained);
  log_info(cat("the loss is the usual one of such rows (", name_of(loss),
               needs_teacher
                   ? "), because the loss of the training needs a teacher, which is asked "
                     "in a training alone"
                   : "), because the loss of the training takes texts without labels"));
}

}  // namespace

ScoreForm trained_form(const RerankingOptions& asked) {
  const RerankingLoss loss = asked.loss.value_or(RerankingObjective().loss);
  const bool is_number = loss == RerankingLoss::kSquaredError || learns_scores(loss);
  return is_number ? ScoreForm::kLogit : ScoreForm::kProbability;
}

void settle_groups(const LoadedTable& loaded, const Settings& settings, ModelConfig& config) {
  if (traits(settings.mode).runs_finished_model()) {
    require_truncation(settings.embedding, config, loaded.task);
  }
  if (ranks_passages(loaded.task)) return settle_reranking(loaded, settings, config);
  if (pairs_with_first(loaded.task)) {
    config.expect_texts(pairs_of(loaded));
  }
  if (traits(loaded.task).rows != HeadRows::kGroups) return;
  config.task = loaded.task;
  const Example first = loaded.table->read(0);
  const auto texts = static_cast<int64_t>(first.texts.size());
  const bool has_scores = !first.text_scores.empty() && texts > 2;
  config.similarity = similarity_objective(settings, loaded.task, has_scores);
  say_other_loss(settings, *config.similarity.loss);
  if (settings.mode == Mode::kEval && settings.embedding.has_other_guide()) {
    log_info(cat("the loss leaves out no false negatives, because --guide ",
                 settings.embedding.guide, " is asked in a training alone"));
  }
  require_sizes(config.similarity, config);
  config.expect_texts(std::max<int64_t>(texts, 2));
  if (learns_scores(*config.similarity.loss) && texts < 3 && traits(settings.mode).trains()) {
    throw Error(Code::kBadData, "the loss compares the passages of a row, and the rows have one",
                loaded.name, "add columns \"negative_1\" and so on");
  }
  const bool is_triplet = config.similarity.loss == SimilarityLoss::kTriplet;
  if (!is_triplet || texts == 3 || settings.mode == Mode::kPredict) return;
  throw Error(Code::kBadData,
              cat("the triplet loss takes one negative a row, and the rows have ", texts - 2),
              loaded.name,
              texts > 3 ? "give --max-negatives 1, or --similarity-loss in_batch_negatives"
                        : "add a column \"negative\", or give --similarity-loss "
                          "in_batch_negatives");
}

namespace {

bool has_generator(const ModelConfig& config) {
  return traits(config.task).rows == HeadRows::kReplaced;
}

// Throws kUsage where the flags ask for what pre-training with a generator cannot do.
void require_possible(const Job& job, const Settings& settings, const ModelConfig& config) {
  const auto refuse = [](const std::string& problem, const char* flag, const char* hint) {
    throw Error(Code::kUsage, problem, flag, hint);
  };
  if (!architecture(config.type).has_discriminator) {
    refuse(cat("replaced-token detection trains an electra, and the model is of model_type ",
               model_type_name(config.type)),
           "--task electra",
           "give a --model or --model-config of model_type electra, or use "
           "--task mlm");
  }
  require_device(job.command_line, job.device.kind, config.task);
  const OptimizationOptions& optimization = settings.training.optimization;
  if (optimization.lora) {
    refuse("replaced-token detection trains all parameters, not adapters", "--lora-rank",
           "leave it out");
  }
  if (optimization.freeze_embeddings || optimization.freeze_encoder_layers > 0) {
    refuse("replaced-token detection trains all parameters",
           optimization.freeze_embeddings ? "--freeze-embeddings" : "--freeze-encoder-layers",
           "leave it out");
  }
}

// Throws kUsage where the model has no layer for pairs of texts, and the task does.
void require_next_sentences(const Job& job, const ModelConfig& config) {
  const TaskTraits& task = traits(config.task);
  if (task.rows != HeadRows::kMaskedAndFirst) return;
  const std::string flag = cat("--task ", task_name(config.task));
  const Architecture& wanted =
      *std::ranges::find(architectures(), task.class_prefix, &Architecture::class_prefix);
  std::string hint = cat("give a --model or --model-config of model_type ", wanted.model_type,
                         " with two token types, or use ");
  const Architecture& row = architecture(config.type);
  if (row.type != wanted.type) {
    for (const TaskTraits& other : task_table()) {
      const bool fits = other.rows == task.rows && other.class_prefix == row.class_prefix;
      if (fits) hint += cat("--task ", task_name(other.task), " or ");
    }
    throw Error(Code::kUsage,
                cat(task_name(config.task), " pre-trains a model of model_type ", wanted.model_type,
                    ", and the model is of model_type ", row.model_type),
                flag, hint + "--task mlm");
  }
  if (config.type_vocab_size < 2) {
    throw Error(Code::kUsage, "the model has one token type (type_vocab_size) for two texts", flag,
                hint + "--task mlm");
  }
  require_device(job.command_line, job.device.kind, config.task);
}

std::unique_ptr<ModelFolder> open_generator(const Job& job, const std::string& path,
                                            ModelConfig& config) {
  auto folder = std::make_unique<ModelFolder>(job.storage, ModelOptions{.model = path});
  try {
    config.generator = saved_generator(config, parse_config(folder->config_json()));
  } catch (const Error& error) {
    throw error.at(folder->name());
  }
  return folder;
}

}  // namespace

std::unique_ptr<ModelFolder> settle_generator(const Job& job, const Settings& settings,
                                              ModelConfig& config) {
  const ElectraOptions& options = settings.electra;
  require_next_sentences(job, config);
  if (!has_generator(config)) {
    if (options.generator.empty()) return nullptr;
    throw Error(Code::kUsage, cat("there is no generator for ", task_name(config.task)),
                "--generator", "leave it out, or give --task electra");
  }
  require_possible(job, settings, config);
  if (options.generator.empty()) {
    config.generator = scaled_generator(config, options.generator_hidden_fraction);
    return nullptr;
  }
  return open_generator(job, options.generator, config);
}

std::unique_ptr<ModelFolder> finished_generator(const Job& job, const Settings& settings,
                                                ModelConfig& config) {
  if (!has_generator(config) || !settings.electra.generator.empty()) {
    return settle_generator(job, settings, config);
  }
  require_possible(job, settings, config);
  const Uri beside = Uri::parse(settings.model.model) / kGeneratorFolderName;
  if (!job.storage.stat(beside / "config.json")) {
    throw Error(Code::kNotFound, "the discriminator cannot be evaluated without its generator",
                beside.to_string(), "name it with --generator");
  }
  return open_generator(job, beside.to_string(), config);
}

void fill_generator(ModelFolder& folder, const ModelConfig& config, int threads,
                    ParameterTensors& values) {
  const std::optional<ModelParameters> found = folder.parameters();
  if (!found) {
    throw Error(Code::kNotFound, "no model.safetensors or pytorch_model.bin", folder.name(),
                "name a generator that was trained, or leave --generator out for a new one");
  }
  GeneratorTensors generator(config, values);
  LoadReport report;
  try {
    report = load_parameters(*found->tensors, generator, threads);
  } catch (const Error& error) {
    throw error.at(found->file);
  }
  if (report.missing.empty()) return;
  log_info(cat("initialised at random, as the generator's file has none: ",
               counted(report.missing.size(), "tensor"), " of its head"));
}

}  // namespace berth
