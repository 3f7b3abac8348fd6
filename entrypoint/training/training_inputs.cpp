#include "entrypoint/training/training_inputs.h"

#include <algorithm>
#include <span>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/similarity_rules.h"
#include "entrypoint/flags/train_sources.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/export_results.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/job/preflight.h"
#include "entrypoint/job/prompts.h"
#include "entrypoint/job/retrieval.h"
#include "entrypoint/job/training_memory.h"
#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/data/joined_documents.h"
#include "trainer/inputs/schedule.h"

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

// An earlier version may have begun the job with a flag that changes nothing. Then it goes on.
WasAccepted as_earlier_job(const Job& job) {
  return [&job](std::string_view flag, std::string_view value) {
    // Only worker 0 knows the job's directory, and it throws for all.
    if (!job.command_line.settings.training.place.leads()) return true;
    const std::string& directory = job.command_line.settings.output.job_dir;
    const auto begun = EarlierJob::find(job.storage, Uri::parse(directory));
    return begun && begun->setting(flag) == value;
  };
}

// Returns what `read` returns. Throws kIncompatible where this version refuses inputs with which an
// earlier version began the job.
template <typename Read>
auto read_as_begun(Storage& storage, const CommandLine& command_line, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const Settings& asked = command_line.settings;
    const bool is_refusal = error.code() == Code::kBadData || error.code() == Code::kUsage;
    if (!is_refusal || asked.output.job_dir.empty()) throw;
    const auto begun = EarlierJob::find(storage, Uri::parse(asked.output.job_dir));
    const bool lacks_form = error.code() == Code::kBadData && begun && !begun->label_form() &&
                            has_label_forms(begun->task());
    if (!lacks_form && !(begun && has_files_of(storage, *begun, asked))) throw;
    throw Error(
        Code::kIncompatible,
        cat("an earlier version of berth, which began the job, read its inputs in another way: ",
            error.what()),
        asked.output.job_dir,
        "go on with that version, or begin the job again in another --job-dir");
  }
}

// A text that differs where the teacher's outputs for the rows would.
std::string identity_of(const Teacher& teacher, const LoadedTable& loaded,
                        const std::vector<uint32_t>& rows, const Settings& settings) {
  std::string text = cat("length ", settings.data.max_seq_length);
  if (teacher.is_of_tokens()) text += " tokens";
  if (teacher.embeds_texts()) text += cat(" texts ", crc_text(loaded.table->digest()));
  for (const std::vector<Source>& sources : {teacher.sources(), loaded.sources}) {
    for (const Source& source : sources) {
      text += cat(" ", source.checksum.size, ":", crc_text(source.checksum.crc));
    }
  }
  Checksum of_rows;
  of_rows.add(std::as_bytes(std::span(rows)));
  return cat(text, " rows ", rows.size(), ":", crc_text(of_rows.crc));
}

// The rules of a job with words that earlier versions read in another way: tokenized with a space
// before them, or labelled at the token behind their space.
void add_word_rules(const TrainingRows& rows, const Tokenizer& tokenizer,
                    std::vector<std::string>& rules) {
  if (traits(rows.task).inputs != InputKind::kWords) return;
  const auto add = [&](const auto& has_such_words, const char* rule) {
    const auto has_any = [&](const LoadedTable& loaded) {
      return has_such_words(*loaded.table, tokenizer);
    };
    const bool needs_rule = has_any(rows.train) || (rows.eval && has_any(*rows.eval)) ||
                            (rows.mismatched && has_any(*rows.mismatched));
    if (needs_rule) rules.emplace_back(rule);
  };
  add(has_word_without_space, "no space before words that are added tokens or empty");
  add(has_word_behind_space, kSpaceRule);
  add(has_word_behind_added_space, "and where the tokenizer adds spaces, too");
}

// The rows to evaluate on: the rows of the evaluation file, or the held-out rows. nullopt if there
// are none.
std::optional<Dataset> make_eval_set(const TrainingRows& rows, const LabelledData& examples) {
  if (rows.eval) return examples.rows_to_evaluate();
  if (rows.split.held_out.empty()) return std::nullopt;
  return examples.rows_to_evaluate(rows.split.held_out);
}

// How rows to train on are read: without the default prompt of the rows to evaluate on.
Settings settings_to_train(Settings settings) {
  settings.embedding.default_prompt.clear();
  return settings;
}

// The numbers of the rows of a data set in its table, ascending.
std::vector<uint32_t> rows_of(const Dataset& data) {
  std::vector<uint32_t> rows;
  for (int64_t i = 0; i < data.size(); ++i) rows.push_back(data.row(i));
  std::ranges::sort(rows);
  return rows;
}

// Takes the learning rate for the model's width where no flag gives one.
void settle_rate(TrainingInputs& inputs) {
  std::optional<double>& rate = inputs.resolved.settings.training.optimization.learning_rate;
  const int64_t width = inputs.model.config.hidden_size;
  if (!rate && inputs.pretrains_from_random()) rate = default_pretraining_rate(width);
  if (!rate) rate = default_learning_rate(width);
}

}  // namespace

ReadingOptions TrainingInputs::reading() const {
  return {.labels = rows.labels,
          .rules = prediction_rules(settings().data, model.config),
          .scores_pairs = rows.scores_pairs()};
}

void add_reading(JobRecord& record, const TrainingInputs& inputs) {
  const TrainingRows& rows = inputs.rows;
  add_table(record, rows.train);
  if (rows.eval) add_table(record, *rows.eval);
  if (rows.mismatched) add_table(record, *rows.mismatched);
  record.reading.tokenizer = inputs.model.tokenizer_rules;
  const bool has_blocks = rows.train.table->spilled() && !inputs.settings().data.reads_in_order;
  if (has_blocks) record.reading.rules.emplace_back(kRunsRule);
  if (!inputs.settings().data.holds_out_blank) record.reading.rules.emplace_back(kBlankRule);
}

namespace {

// Joins the texts of a masked language model to blocks, and counts the texts of a block.
void join_all_rows(const Tokenizer& tokenizer, Settings& settings, TrainingRows& rows) {
  int64_t& sequences = settings.data.sequences_per_block;
  sequences = join_rows(settings, tokenizer, rows.task, rows.train, rows.split);
  int64_t& masked = settings.data.most_masked;
  masked = most_masked(*rows.train.table);
  if (rows.eval) {
    masked = std::max(masked, most_masked(*rows.eval->table));
    sequences = std::max(sequences, join_rows(settings, tokenizer, rows.task, *rows.eval));
  }
}

// The objectives of several sources, and behind them the objective of the rows to evaluate on.
void settle_sources(const TrainingRows& rows, const Settings& settings, ModelConfig& config) {
  if (rows.sources.empty()) return;
  for (const RowsOfSource& source : rows.sources) {
    config.sources.push_back(source.objective);
    config.expect_texts(source.texts);
  }
  const Settings usual = TrainSource().settings(settings);
  config.sources.push_back(similarity_objective(usual, rows.task, /*has_scores=*/false));
}

// Throws kUsage where some micro-batches have one row and the loss learns by comparing rows. A job
// goes on that an earlier version began so.
void require_rows_to_compare(const Job& job, const TrainingRows& rows, const Settings& settings,
                             const ModelConfig& config) {
  const TrainingOptions& training = settings.training;
  const bool has_two = training.batch_size >= 2 * training.gradient_accumulation_steps;
  if (training.token_budget > 0 || has_two) return;
  const auto needs_two = [](SimilarityLoss loss, int64_t texts) {
    return compares_rows(loss) && (learns_numbers(loss) || texts < 3);
  };
  bool is_vain = rows.sources.empty() && compares_texts(config) &&
                 needs_two(*config.similarity.loss, std::ssize(rows.train.table->read(0).texts));
  for (const RowsOfSource& source : rows.sources) {
    is_vain = is_vain || needs_two(*source.objective.loss, source.texts);
  }
  if (!is_vain) return;
  const bool is_split = training.gradient_accumulation_steps > 1;
  const Error refusal(
      Code::kUsage, "the loss compares rows, and a micro-batch of one row has nothing to compare",
      is_split ? "--gradient-accumulation-steps" : "--batch-size",
      "give a larger --batch-size; --embedding-mini-batch-size makes it take little memory");
  const std::string& directory = settings.output.job_dir;
  if (directory.empty() || !EarlierJob::find(job.storage, Uri::parse(directory))) throw refusal;
  log_warning(
      cat("the job learns nothing from such batches, and goes on as it began: ", refusal.what()));
}

// Throws kUsage where a flag changes nothing in the task of the rows.
void require_heeded_by(const TrainingRows& rows, const Job& job) {
  const Task task = rows.sources.empty() ? rows.task : rows.sources.front().task;
  require_heeded(job.command_line, task, as_earlier_job(job), rows.eval_task());
}

// Throws kUsage where flags say how to mask, and all rows are masked already.
void require_masking_of(const TrainingRows& rows, const Job& job) {
  const bool is_wanted =
      !holds_masked(*rows.train.table) || (rows.eval && !holds_masked(*rows.eval->table));
  if (!is_wanted) require_no_masking(job.command_line, as_earlier_job(job));
}

// Completes the model with what the rows say of it: the task, the labels, the texts of a row.
void settle_model(const TrainingRows& rows, ModelFolder& folder, bool asks_length,
                  Settings& settings, ModelDescription& model) {
  model.config.task = rows.task;
  const bool compares = compares_texts(model.config);
  const SentenceFiles files = compares ? read_sentence_files(folder) : SentenceFiles();
  if (compares) settle_embedding(files, settings.embedding, model.config);
  settle_groups(rows.train, settings, model.config);
  if (rows.scores_pairs()) {  // by the embeddings of their texts
    model.config.expect_texts(2);
    model.tokenizer_rules.emplace_back("labels score the rows to evaluate on");
  } else if (rows.eval) {
    settle_groups(*rows.eval, settings, model.config);
  }
  const bool differ = model.config.fewest_texts_per_row != model.config.texts_per_row;
  if (compares && rows.eval && differ) {
    model.tokenizer_rules.emplace_back(
        "rows to evaluate on have another number of texts than rows to train on");
  }
  settle_sources(rows, settings, model.config);
  warn_of_sizes(model.config.similarity, model.config);
  model.config.labels = rows.labels;
  model.config.label_thresholds.clear();  // of what the model was before
  resolve_decoder(folder, settings.model, model.config, model.tokenizer_rules);
  if (settings.output.export_adapter) warn_of_adapter_base(folder, settings.model, model.config);
  add_word_rules(rows, *model.tokenizer, model.tokenizer_rules);
  if (!compares) return;
  // The texts of an evaluation batch are compared, so its size may not depend on the workers.
  int64_t& evaluated = settings.training.eval_batch_size;
  if (evaluated == 0) evaluated = settings.training.examples_per_shared_micro_batch();
  settle_comparison(folder, files, settings, model);
  settle_training_prompts(model.sentences, settings.embedding);
  if (!settings.embedding.default_prompt.empty()) {
    model.tokenizer_rules.emplace_back("default prompt before the texts to evaluate on");
  }
  if (!asks_length) use_length_of(model.sentences, settings, model);
}

// The search to evaluate on. Null: there is none.
std::unique_ptr<RetrievalSet> retrieval_of(const Job& job, const Settings& settings,
                                           const ModelConfig& config) {
  if (!traits(settings.mode).evaluates_training()) return nullptr;
  return load_retrieval(job.storage, settings, config);
}

// The model that embeds the texts of rows for the loss: the teacher or the guide. Null: there is
// none. Throws kUsage where the model's embeddings cannot learn the teacher's, as their sizes
// differ.
std::unique_ptr<Teacher> teacher_of_texts(const Job& job, const Settings& settings,
                                          ModelConfig& config) {
  SimilarityObjective& objective = config.similarity;
  const std::string& path = settings.distillation.teacher;
  std::unique_ptr<Teacher> teacher;
  if (!path.empty()) {
    teacher = std::make_unique<Teacher>(job, settings, path, "teacher");
  } else if (objective.rule.is_on && settings.embedding.has_other_guide()) {
    teacher = std::make_unique<Teacher>(job, settings, settings.embedding.guide, "guide");
  } else {
    return nullptr;
  }
  objective.vector_size = teacher->num_outputs();
  if (!learns_embeddings(*objective.loss) ||
      objective.vector_size == config.embedding_dimension()) {
    return teacher;
  }
  throw Error(Code::kUsage,
              cat("the teacher's embeddings have ", objective.vector_size,
                  " numbers, and the model's have ", config.embedding_dimension()),
              "--teacher",
              "give a teacher of the model's size, or --similarity-loss margin_mse or distill_kl");
}

// Throws kUsage where no teacher helps to learn the task.
void require_teachable(const Job& job, Task task, const std::string& teacher) {
  if (tasks_that::have_a_teacher(traits(task))) return;
  const std::string what = cat("there is no distillation for ", asked_name(task));
  // Earlier versions learnt a teacher's scores of labelled passages, too.
  if (task != Task::kReranking || !as_earlier_job(job)("teacher", teacher)) {
    throw Error(Code::kUsage, what, "--teacher",
                "leave it out; teachers help where each text has a class, a set of classes or a "
                "score, and with --task mlm and --task similarity");
  }
  log_warning(cat("--teacher: ", what, "; the job goes on as it began"));
}

// The teacher or the guide; null: there is none.
std::unique_ptr<Teacher> make_teacher(const Job& job, const Settings& settings,
                                      const TrainingRows& rows, ModelDescription& model) {
  if (compares_texts(model.config)) return teacher_of_texts(job, settings, model.config);
  if (settings.distillation.teacher.empty()) return nullptr;
  require_teachable(job, rows.task, settings.distillation.teacher);
  auto teacher = std::make_unique<Teacher>(job, settings, rows.task, rows.labels, *model.tokenizer);
  model.config.vector_size = teacher->num_outputs();
  return teacher;
}

}  // namespace

TrainingInputs read_inputs(const Job& job) {
  const DataPaths paths(job.storage);
  const auto as_begun = [&](const auto& read) {
    return read_as_begun(job.storage, job.command_line, read);
  };
  ResolvedJob resolved = as_begun([&] { return resolve_settings(paths, job.command_line); });
  const Settings& settings = resolved.settings;
  // Rows decide between tasks with labels and without, and what the task is where no flag names
  // one.
  const std::optional<Task> named = resolved.sources.task;
  const bool is_open =
      named && (traits(*named).unlabelled || traits(*named).rows == HeadRows::kGroups);
  if (named && !is_open) require_heeded(job.command_line, *named, as_earlier_job(job));
  as_begun([&] { preflight(paths, settings); });
  preflight_unused(paths, job.command_line);
  auto folder = std::make_unique<ModelFolder>(job.storage, settings.model);
  const bool asks_length = asks_for_length(job.command_line, settings);
  ModelDescription model = as_begun(
      [&] { return describe_fitting_model(*folder, job.command_line, resolved.settings); });
  require_exportable(settings, model.config);
  require_layers_to_freeze(settings.training.optimization, model.config);
  job.stop_point();
  std::unique_ptr<JobProbes> probes;
  if (!settings.probes.files.empty()) {
    probes = std::make_unique<JobProbes>(job, resolved.settings, model);
  }
  // The rows. They say which task it is where no flag does.
  expect_tokenizer(*model.tokenizer, resolved.sources);
  TrainingRows rows = as_begun([&] {
    use_archived_splits(paths, job.command_line, resolved.settings, resolved.sources);
    return load_training_rows(paths, resolved.settings, resolved.sources, model.config);
  });
  if (named != rows.task || is_open) require_heeded_by(rows, job);
  require_masking_of(rows, job);
  join_all_rows(*model.tokenizer, resolved.settings, rows);
  require_device(job.command_line, job.device.kind, rows.task);
  as_begun([&] { settle_model(rows, *folder, asks_length, resolved.settings, model); });
  require_rows_to_compare(job, rows, settings, model.config);
  require_exportable(settings, model.config);  // now that the task is known
  job.stop_point();
  // The networks beside the model.
  std::unique_ptr<ModelFolder> generator = settle_generator(job, settings, model.config);
  std::unique_ptr<Teacher> teacher = make_teacher(job, settings, rows, model);
  const size_t program = program_bytes(rows);  // without the retrieval set
  std::unique_ptr<RetrievalSet> retrieval = retrieval_of(job, settings, model.config);
  TrainingInputs inputs{.resolved = std::move(resolved),
                        .folder = std::move(folder),
                        .model = std::move(model),
                        .rows = std::move(rows),
                        .retrieval = std::move(retrieval),
                        .generator = std::move(generator),
                        .teacher = std::move(teacher),
                        .probes = std::move(probes),
                        .program_bytes = program};
  settle_rate(inputs);
  require_used(job.command_line, inputs.settings().training.optimization.learning_rate,
               as_earlier_job(job));
  return inputs;
}

TrainingData::TrainingData(const TrainingInputs& inputs)
    : inputs_(inputs),
      train_examples_(inputs.rows.train, inputs.rows.task, inputs.rows.labels,
                      /*wants_labels=*/true, settings_to_train(inputs.settings()),
                      *inputs.model.tokenizer, inputs.rows.class_weights),
      eval_examples_(inputs.rows.eval ? *inputs.rows.eval : inputs.rows.train,
                     inputs.rows.eval_task(), inputs.rows.labels, /*wants_labels=*/true,
                     inputs.settings(), *inputs.model.tokenizer),
      train_(train_examples_.rows(inputs.rows.split.train)),
      eval_(make_eval_set(inputs.rows, eval_examples_)) {
  const auto hint = [&](Dataset& data) {
    return hint_for_labels(data, inputs.settings(), *inputs.model.tokenizer);
  };
  std::vector<RowSource> sources;
  for (const RowsOfSource& source : inputs.rows.sources) sources.push_back(source.rows);
  if (eval_) eval_->set_source(static_cast<int32_t>(sources.size()));
  train_.set_sources(std::move(sources));
  if (inputs.settings().data.reads_in_order) train_.read_in_order();
  if (!has_any_label(train_)) {
    throw Error(Code::kBadData, "there is nothing to learn: no row to train on has a label",
                inputs.rows.train.name, hint(train_));
  }
  collect_texts();
  const bool has_labels = eval_ && has_any_label(*eval_);
  if (!has_labels && chooses_thresholds(inputs.settings().data)) {
    throw Error(Code::kBadData, "no held-out row has labels, by which a threshold could be chosen",
                "--label-threshold", "give rows with labels by --eval-data-file, or a number");
  }
  if (!eval_ || has_labels) return;
  log_warning(cat(inputs.rows.eval ? inputs.rows.eval->name : inputs.rows.train.name,
                  ": no row to evaluate on has a label, so the job evaluates nothing; ",
                  hint(*eval_)));
  eval_.reset();
  eval_texts_.reset();
}

void TrainingData::collect_texts() {
  if (!inputs_.teacher || !inputs_.teacher->embeds_texts()) return;
  const TrainingRows& rows = inputs_.rows;
  const auto collect = [&](const LoadedTable& loaded, const Dataset& data,
                           const EmbeddingOptions& embedding) {
    std::vector<uint32_t> numbers = rows_of(data);
    // Of several sources, the first one alone has a teacher or a guide.
    if (!rows.sources.empty()) numbers.resize(static_cast<size_t>(rows.sources[0].rows.rows));
    return RowTexts(loaded, numbers, row_prompts(embedding, rows.task));
  };
  train_texts_.emplace(
      collect(rows.train, train_, settings_to_train(inputs_.settings()).embedding));
  if (eval_ && rows.sources.empty() && !rows.scores_pairs()) {
    eval_texts_.emplace(
        collect(rows.eval ? *rows.eval : rows.train, *eval_, inputs_.settings().embedding));
  }
}

TextVectors TrainingData::embed_texts(const char* name, RowTexts& texts, Storage& storage,
                                      const Uri& directory) {
  Teacher& teacher = *inputs_.teacher;
  std::vector<uint32_t> asked = all_rows(texts.table());
  RowTargets targets(texts.texts(), static_cast<size_t>(teacher.num_outputs()), teacher.dtype());
  std::string identity = identity_of(teacher, texts.table(), asked, inputs_.settings());
  SavedTargets saved(storage, directory, name, std::move(identity), std::move(asked), targets);
  teacher.fill(texts.table(), nullptr, saved);
  return texts.take_vectors(std::move(targets));
}

// How many vectors the teacher makes of each row of a table: one of each token of the rows that are
// used, or one of each row.
std::vector<uint32_t> TrainingData::vectors_of_rows(const LoadedTable& loaded) {
  if (!inputs_.teacher->is_of_tokens()) {
    return std::vector<uint32_t>(loaded.table->rows(), 1);
  }
  std::vector<uint32_t> tokens(loaded.table->rows());
  const auto add = [&](Dataset& data) {
    for (int64_t i = 0; i < data.size(); ++i) {
      tokens[data.row(i)] += static_cast<uint32_t>(data.length(i));
    }
  };
  const TrainingRows& rows = inputs_.rows;
  if (&loaded == &rows.train) add(train_);
  if (eval_ && &loaded == (rows.eval ? &*rows.eval : &rows.train)) add(*eval_);
  return tokens;
}

void TrainingData::ask_teacher(Storage& storage, const Uri& directory) {
  if (!inputs_.teacher) return;
  Teacher& teacher = *inputs_.teacher;
  if (teacher.embeds_texts()) {
    train_vectors_.emplace(embed_texts("train", *train_texts_, storage, directory));
    train_texts_.reset();
    train_.set_text_vectors(*train_vectors_);
    if (!eval_texts_) return;
    eval_vectors_.emplace(embed_texts("eval", *eval_texts_, storage, directory));
    eval_texts_.reset();
    eval_->set_text_vectors(*eval_vectors_);
    return;
  }
  const TrainingRows& rows = inputs_.rows;
  const bool learns_vectors = are_vectors(traits(rows.task).labels);
  const auto ask = [&](const char* name, const LoadedTable& loaded, const LabelledData& examples,
                       std::vector<uint32_t> asked) {
    std::ranges::sort(asked);
    RowTargets targets(vectors_of_rows(loaded), static_cast<size_t>(teacher.num_outputs()),
                       teacher.dtype());
    std::string identity = identity_of(teacher, loaded, asked, inputs_.settings());
    SavedTargets saved(storage, directory, name, std::move(identity), std::move(asked), targets);
    teacher.fill(loaded, &examples, saved);
    return targets;
  };
  std::vector<uint32_t> asked = rows.split.train;
  // Evaluation compares with the teacher only where there are no other labels.
  if (learns_vectors && !rows.eval) {
    asked.insert(asked.end(), rows.split.held_out.begin(), rows.split.held_out.end());
  }
  train_targets_.emplace(ask("train", rows.train, train_examples_, std::move(asked)));
  train_.set_targets(*train_targets_, inputs_.settings().distillation.loss.weight);
  if (!eval_ || !learns_vectors) return;
  if (rows.eval) {
    eval_targets_.emplace(ask("eval", *rows.eval, eval_examples_, all_rows(*rows.eval)));
  }
  eval_->set_targets(rows.eval ? *eval_targets_ : *train_targets_);
}

bool TrainingInputs::pretrains_from_random() const {
  return settings().model.init == Init::kRandom && !traits(rows.task).has_label_column;
}

size_t TrainingData::target_bytes() {
  if (!inputs_.teacher) return 0;
  size_t vectors = 0;
  if (inputs_.teacher->embeds_texts()) {
    vectors = train_texts_->texts() + (eval_texts_ ? eval_texts_->texts() : 0);
    return inputs_.teacher->memory_bytes(vectors);
  }
  const auto add = [&](const LoadedTable& loaded) {
    for (const uint32_t count : vectors_of_rows(loaded)) vectors += count;
  };
  add(inputs_.rows.train);
  if (inputs_.rows.eval) add(*inputs_.rows.eval);
  return inputs_.teacher->memory_bytes(vectors);
}

}  // namespace berth
