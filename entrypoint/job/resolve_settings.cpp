#include "entrypoint/job/resolve_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/model_choice.h"
#include "entrypoint/platform/program_files.h"
#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/tfrecord.h"
#include "storage/whole_file.h"
#include "trainer/data/label_form.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/load_model.h"
#include "trainer/tasks/glue.h"
#include "trainer/text/tokenizer.h"

namespace berth {
namespace {

constexpr int64_t kMostLabels = 1'000'000;

// The meta data file beside TFRecords. create_finetuning_data.py and --mode prepare write it.
struct MetaData {
  std::optional<int64_t> max_seq_length, num_labels;
  std::string task_type{};
  std::vector<std::string> labels{};  // the names of the numbers; only --mode prepare writes them
};

std::vector<std::string> label_names(const Json& object, const std::string& where) {
  std::vector<std::string> names;
  if (!object.contains("labels")) return names;
  const Json& labels = object["labels"];
  const auto refuse = [&](const char* what) {
    throw Error(Code::kBadData, cat("\"labels\" ", what), where);
  };
  if (!labels.is_array()) refuse("is not a list");
  for (const Json& label : labels) {
    if (!label.is_string()) refuse("holds something other than texts");
    names.push_back(label.get<std::string>());
  }
  if (object.contains("num_labels") && object["num_labels"] != names.size()) {
    refuse("has another number of names than num_labels");
  }
  return names;
}

MetaData read_meta_data(Storage& storage, const std::string& path) {
  const Uri uri = Uri::parse(path);
  const std::optional<std::string> text = read_text(storage, uri);
  if (!text) {
    throw Error(Code::kNotFound, "no such file", "--input-meta-data-path " + uri.to_string());
  }
  const Json object = parse_json(*text);
  if (!object.is_object()) {
    throw Error(Code::kBadData, "the file is not a JSON object", uri.to_string(),
                "pass the file that create_finetuning_data.py or --mode prepare wrote");
  }
  const auto number = [&](const char* key, int64_t least, int64_t most) -> std::optional<int64_t> {
    if (!object.contains(key)) return std::nullopt;
    const Json& value = object[key];
    if (value.is_number_integer() && value >= least && value <= most) return value.get<int64_t>();
    throw Error(Code::kBadData,
                cat(quoted(key), " is not a whole number from ", least, " to ", most),
                uri.to_string());
  };
  MetaData meta{.max_seq_length = number("max_seq_length", kShortestSequence, kLongestSequence),
                .num_labels = number("num_labels", 1, kMostLabels)};
  if (object.contains("task_type") && object["task_type"].is_string()) {
    meta.task_type = object["task_type"].get<std::string>();
  }
  meta.labels = label_names(object, uri.to_string());
  return meta;
}

bool holds_records(const std::string& path) {
  return !path.empty() && names_records(last_part(path));
}

// The task of records with this task_type. Returns nullopt if the records themselves must show it.
// That includes bert_classification, which some writers use for every task.
std::optional<Task> task_of(const std::string& task_type) {
  for (const TaskTraits& row : task_table()) {
    const bool is_named = !task_type.empty() && row.record_type == task_type;
    if (is_named && row.task != kDefaultTask) return row.task;
  }
  return std::nullopt;
}

// Fills in what `meta` knows and no flag says. Returns the names of the label numbers in the
// records. If it returns none, each number is its own name.
std::vector<std::string> apply(const MetaData& meta, const CommandLine& command_line,
                               DataOptions& data, DataSources& sources) {
  if (meta.max_seq_length && !command_line.gives("max-seq-length")) {
    data.max_seq_length = static_cast<int32_t>(*meta.max_seq_length);
  }
  if (!sources.task) sources.task = task_of(meta.task_type);
  // The meta data name the labels of records only. Tables of texts name their own labels.
  const std::string& first = !data.train_data_file.empty()  ? data.train_data_file
                             : !data.eval_data_file.empty() ? data.eval_data_file
                                                            : data.predict_data_file;
  const bool is_score = sources.task && traits(*sources.task).labels == LabelKind::kNumber;
  if (!meta.num_labels || !holds_records(first) || is_score) return {};
  sources.labels_are_usual = false;
  if (!meta.labels.empty()) return sources.labels = meta.labels;
  sources.labels.clear();
  for (int64_t label = 0; label < *meta.num_labels; ++label) {
    sources.labels.push_back(std::to_string(label));
  }
  return {};
}

std::vector<std::string> parse_label_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(trimmed(std::string_view(text).substr(begin, end - begin)));
    if (names.back().empty()) {
      throw Error(Code::kUsage, quoted(text) + " holds an empty name", "--label-names",
                  "write the names of all classes with a comma between them");
    }
    if (std::ranges::count(names, names.back()) > 1) {
      throw Error(Code::kUsage, quoted(names.back()) + " stands twice", "--label-names",
                  "give each class a name of its own");
    }
    begin = end + 1;
  }
  return names;
}

// With a token budget and no --eval-batch-size, an evaluation's batch may have as many tokens as a
// micro-batch.
void complete_evaluation(const DataOptions& data, TrainingOptions& training) {
  if (training.token_budget == 0 || training.eval_batch_size > 0) return;
  const int64_t share = training.token_budget / training.gradient_accumulation_steps;
  training.eval_batch_size = std::max<int64_t>(1, share / data.max_seq_length);
}

// Of a folder of Hugging Face's datasets, the train split trains and another one evaluates.
void use_splits(const DataPaths& paths, const CommandLine& command_line, Settings& settings,
                DataSources& sources) {
  DataOptions& data = settings.data;
  const bool reads_both = traits(settings.mode).reads(kTrainRows | kEvalRows);
  const SplitFolder* const folder = paths.at(data.train_data_file).splits();
  if (folder == nullptr) return;
  const bool has_mismatched = split_for(folder->splits, "eval_mm").has_value();
  if (!sources.labels.empty() && has_mismatched) sources.mismatched.path = data.train_data_file;
  sources.labels.clear();  // its classes have names of their own, in the benchmark's order
  if (!reads_both || !data.eval_data_file.empty() || command_line.gives("validation-split")) return;
  const auto split = split_for(folder->splits, "eval");
  if (!split || split == split_for(folder->splits, "train")) return;
  data.eval_data_file = data.train_data_file;
  sources.eval_is_found = true;
  log_info(cat("evaluates on the split ", *split, " of ", data.train_data_file));
}

// Whether the rows to train on lie in an archive. What it holds is known only once it is fetched.
// nullopt: no flag names them, or they are files of a benchmark.
std::optional<bool> trains_on_archive(const DataPaths& paths, const DataOptions& data) {
  const bool is_benchmark = find_glue_task(data.task) != nullptr && !data.data_dir.empty();
  if (is_benchmark || data.train_data_file.empty()) return std::nullopt;
  return paths.at(data.train_data_file).is_archived();
}

// Whether rows that are compared, or their passages, need the scores of a teacher.
LabelNeed need_of_scores(const Settings& settings) {
  const auto& loss = settings.embedding.loss;
  const auto& of_passages = settings.reranking.loss;
  const bool has_teacher = !settings.distillation.teacher.empty();
  const bool are_learnt =
      (loss && learns_scores(*loss)) || (of_passages && learns_scores(*of_passages));
  if (!are_learnt || has_teacher) return LabelNeed::kIgnored;
  if (traits(settings.mode).trains()) return LabelNeed::kRequired;
  return settings.mode == Mode::kEval ? LabelNeed::kIfPresent : LabelNeed::kIgnored;
}

// Whether no flag says how a training reads rows with negatives and labels.
bool refuses_both_kinds(const Settings& settings) {
  const bool is_told = settings.embedding.loss || !settings.distillation.teacher.empty();
  return traits(settings.mode).trains() && !is_told;
}

// What the tags of words say, by the name of the task.
std::string tags_of(const std::string& task) {
  const std::string name = lower_ascii(task);
  return name == "ner" || name == "pos" || name == "chunk" ? name : "";
}

}  // namespace

DataSources resolve_data(const DataPaths& paths, const CommandLine& command_line,
                         Settings& settings) {
  DataOptions& data = settings.data;
  complete_data_files(data, settings.mode);
  const GlueTask* glue = find_glue_task(data.task);
  DataSources sources{.task = glue != nullptr ? std::optional(glue->task) : find_task(data.task)};
  const auto& loss = settings.embedding.loss;
  const bool takes_any_rows = !loss || learns_embeddings(*loss);
  const bool takes_texts = !takes_any_rows && !learns_numbers(*loss);
  // A finished model compares pairs with labels, too, whatever it was trained on.
  const bool finds_kind = takes_texts && traits(settings.mode).scores();
  if (sources.task == Task::kSimilarity && takes_texts && !finds_kind) {
    sources.task = Task::kInBatchNegatives;
  }
  // A finished model ranks labelled pairs, too, whatever it was trained on.
  if (sources.task == Task::kReranking && traits(settings.mode).trains() &&
      compares_passages(settings.reranking.loss.value_or(RerankingObjective().loss))) {
    sources.task = Task::kListReranking;
  }
  // A teacher tells more of a text than its masked tokens do, so its outputs take their place.
  if (sources.task == Task::kMaskedLm && !settings.distillation.teacher.empty()) {
    const bool is_of_tokens = settings.distillation.target == DistillationTarget::kHiddenStates;
    sources.task = is_of_tokens ? Task::kHiddenStateDistillation : Task::kEmbeddingDistillation;
  }
  if (glue != nullptr) {
    sources.labels = glue->labels;
    sources.labels_are_usual = true;
    sources.metric = glue->metric;
  }
  if (trains_on_archive(paths, data) == false) {
    use_splits(paths, command_line, settings, sources);
  }
  const bool scores_halves = glue != nullptr && !glue->eval_mismatched.empty() &&
                             traits(settings.mode).scores() && data.data_dir.empty();
  if (scores_halves && !data.eval_data_file.empty()) {
    const SplitFolder* const folder = paths.at(data.eval_data_file).splits();
    if (folder != nullptr && split_for(folder->splits, "eval_mm")) {
      sources.mismatched.path = data.eval_data_file;
    }
  }
  std::vector<std::string> record_labels;
  if (!data.input_meta_data_path.empty()) {
    const MetaData meta = read_meta_data(paths.storage(), data.input_meta_data_path);
    record_labels = apply(meta, command_line, data, sources);
  }
  if (!data.label_names.empty()) {
    sources.labels = parse_label_names(data.label_names);
    sources.labels_are_given = true;
    sources.labels_are_usual = false;
    if (!record_labels.empty() || !data.input_meta_data_path.empty()) {
      record_labels = sources.labels;
    }
  }
  complete_evaluation(data, settings.training);
  const auto request = [&](const char* role, const std::string& path, LabelNeed need) {
    DataRequest made{.role = role,
                     .path = path,
                     .rules = {.task = sources.task,
                               .columns = {.text = data.text_column,
                                           .text_pair = data.text_pair_column,
                                           .label = data.label_column,
                                           .tags = tags_of(data.task),
                                           .weight = data.weight_column,
                                           .may_lack_weights = role != std::string_view("train"),
                                           .id = command_line.tool.id_column},
                               .labels = data.labels,
                               .sentence_column = data.sentence_column,
                               .need = need,
                               .may_lack_labels = takes_any_rows || finds_kind,
                               .prefers_groups = finds_kind,
                               .refuses_both_kinds = refuses_both_kinds(settings),
                               .text_scores = need_of_scores(settings),
                               .skip_bad_rows = data.skip_bad_rows,
                               .max_negatives = data.max_negatives,
                               .places = role == std::string_view("train") ? AnswerPlaces::kExact
                                                                           : AnswerPlaces::kAny,
                               .labels_by_number = sources.labels_are_given,
                               .record_labels = record_labels},
                     .form = data.text_form,
                     .shows_texts = command_line.row_preview};
    // The file is a table in GLUE's own layout, unless a flag names another column of texts.
    const std::string_view file = without_compression_suffix(path);
    const bool is_raw = glue != nullptr && file.ends_with(".tsv") && data.text_column.empty();
    if (!is_raw) return made;
    if (made.form.quoting == Quoting::kAuto) made.form.quoting = Quoting::kNone;
    const bool is_test = file.ends_with(glue->test) && need != LabelNeed::kRequired;
    const ColumnChoice given = made.rules.columns;
    ColumnChoice& columns = made.rules.columns;
    columns = is_test ? glue->test_columns : glue->columns;
    if (!given.text_pair.empty()) columns.text_pair = given.text_pair;
    if (!given.label.empty()) columns.label = given.label;
    columns.weight = given.weight;
    columns.may_lack_weights = given.may_lack_weights;
    columns.id = given.id;
    if (glue->headless && !is_test) made.layout = RowLayout::kHeadlessTsv;
    return made;
  };
  sources.train = request("train", data.train_data_file, LabelNeed::kRequired);
  sources.eval = request("eval", data.eval_data_file, LabelNeed::kRequired);
  // --mode prepare keeps the labels of the records that have labels.
  const LabelNeed need =
      traits(settings.mode).predicts() ? LabelNeed::kIgnored : LabelNeed::kIfPresent;
  sources.predict = request("predict", data.predict_data_file, need);
  if (glue != nullptr && !glue->eval_mismatched.empty() && !data.data_dir.empty()) {
    const Uri file = Uri::parse(data.data_dir) / std::string(glue->eval_mismatched);
    sources.mismatched = request("eval_mm", file.to_string(), LabelNeed::kRequired);
  }
  if (!sources.mismatched.path.empty() && sources.mismatched.role.empty()) {
    const std::string path = sources.mismatched.path;
    sources.mismatched = request("eval_mm", path, LabelNeed::kRequired);
  }
  return sources;
}

void use_archived_splits(const DataPaths& paths, const CommandLine& command_line,
                         Settings& settings, DataSources& sources) {
  if (trains_on_archive(paths, settings.data) != true) return;
  use_splits(paths, command_line, settings, sources);
  sources.eval.path = settings.data.eval_data_file;
  if (sources.mismatched.path.empty() || !sources.mismatched.role.empty()) return;
  const std::string path = sources.mismatched.path;
  sources.mismatched = sources.eval;
  sources.mismatched.path = path;
  sources.mismatched.role = "eval_mm";
}

void require_use_of_names(const DataSources& sources, Task task) {
  if (!sources.labels_are_given || traits(task).has_classes) return;
  throw Error(Code::kUsage, "the flag is only for tasks with classes", "--label-names",
              "leave it out, or name such a task with --task");
}

void expect_tokenizer(const Tokenizer& tokenizer, DataSources& sources) {
  for (DataRequest* request : {&sources.train, &sources.eval, &sources.predict}) {
    request->rules.tokenizer_checksum = [&tokenizer] { return tokenizer_checksum(tokenizer); };
  }
}

namespace {

bool is_taken_over(const Flag& flag, const EarlierJob& earlier, Mode mode) {
  const FlagRole& role = flag.role;
  const bool compares = traits(earlier.task()).rows == HeadRows::kGroups;
  // The two texts that a job compares are two sequences, and a pair to embed is one.
  if (mode == Mode::kEmbed && compares && flag.name == "text-pair-column") return false;
  // Texts to embed are queries or passages, and --prompt-name says which.
  const bool is_prompt = flag.name == "query-prompt" || flag.name == "passage-prompt";
  if (mode == Mode::kEmbed && is_prompt) return false;
  if (role.has(kAsTrained)) return true;
  if (!traits(mode).scores()) return false;
  return role.has(kAsScored) || (compares && role.has(kAsBatched));
}

bool says_label_form(const CommandLine& command_line) {
  return std::ranges::any_of(flag_table(), [&](const Flag& flag) {
    return flag.role.has(kSaysLabelForm) && command_line.gives(flag.name);
  });
}

// Copies from `earlier` the flags of is_taken_over(), unless they were given.
void take_over_reading(const EarlierJob& earlier, CommandLine& command_line) {
  std::string taken;
  for (const Flag& flag : flag_table()) {
    if (!is_taken_over(flag, earlier, command_line.settings.mode)) continue;
    const std::string value = earlier.setting(flag.name);
    if (value.empty() || command_line.gives(flag.name)) continue;
    if (flag.value.get(command_line) == value) continue;
    flag.value.set(command_line, value);
    taken += cat(taken.empty() ? "" : " ", "--", flag.name, " ", value);
  }
  // What a flag says of labels outranks what the job found out about its own.
  const bool is_told = says_label_form(command_line);
  const std::optional<Task> asked = find_task(command_line.settings.data.task);
  const bool is_same = !command_line.gives("task") || asked == earlier.task();
  if (earlier.label_form() && !is_told && is_same) {
    command_line.settings.data.labels = *earlier.label_form();
  }
  if (!taken.empty()) log_info(cat("taken over from the job: ", taken));
}

// The job whose finished model is meant. It is the job in --job-dir, unless --model names another
// model than the one that the job was trained from. Otherwise it is the job whose directory --model
// names. nullopt if there is no such job.
std::optional<EarlierJob> find_meant_job(Storage& storage, const Settings& settings) {
  const std::string &model = settings.model.model, &job_dir = settings.output.job_dir;
  if (!job_dir.empty()) {
    std::optional<EarlierJob> earlier = EarlierJob::find(storage, Uri::parse(job_dir));
    const auto began_with = [&] { return earlier->setting("model") == model; };
    if (earlier && (model.empty() || began_with())) return earlier;
  }
  if (model.empty()) return std::nullopt;
  return EarlierJob::find(storage, Uri::parse(model));
}

// For --mode eval, predict and embed. If an earlier job is meant, replaces the model in
// `command_line` by the job's model. Copies the job's flags for reading rows, unless they were
// given. Returns the job; if none is meant, it does nothing.
std::optional<EarlierJob> adopt_earlier_job(Storage& storage, CommandLine& command_line) {
  std::optional<EarlierJob> earlier = find_meant_job(storage, command_line.settings);
  if (!earlier) return earlier;
  const Uri finished = earlier->model();
  if (!storage.stat(finished / "config.json")) {
    throw Error(Code::kNotFound, "the job has not finished, or its model was moved away",
                finished.to_string(),
                "start the job again, or make a model of its best checkpoint with --mode "
                "export_only and name it with --model");
  }
  ModelOptions& model = command_line.settings.model;
  if (!model.model.empty() || !model.model_config.empty() || !model.vocab_file.empty()) {
    log_info(cat("using the model that the job in ", earlier->directory().to_string(), " trained"));
  }
  model = {.model = finished.to_string()};  // it has its own configuration and vocabulary
  take_over_reading(*earlier, command_line);
  TextForm& form = command_line.settings.data.text_form;
  form.usual_words = earlier->words();
  form.usual_tags = earlier->tags();
  keep_reading_of(*earlier, command_line);
  return earlier;
}

// The model in a directory that holds no record of a job. It is never a name of the hub.
std::string model_without_record(Storage& storage, const Uri& job_dir) {
  const Uri model = job_dir / kModelFolderName;
  if (!storage.list(model, 1).empty()) return model.to_string();
  throw Error(Code::kNotFound, "there is no finished job here", job_dir.to_string(),
              "check --job-dir, which for a job of --seeds is JOB_DIR/seed-N; or name a model with "
              "--model");
}

// The model of a job that names none. Empty if the job needs none.
std::string default_model(Storage& storage, const Settings& settings) {
  if (!traits(settings.mode).trains()) {
    return model_without_record(storage, Uri::parse(settings.output.job_dir));
  }
  const bool has_config = !settings.model.model_config.empty();
  const bool has_vocabulary = !settings.model.vocab_file.empty();
  const bool is_whole = has_config && (has_vocabulary || !needs_tokenizer(settings.data));
  if (is_whole && settings.model.init == Init::kRandom) return "";
  if (has_config || has_vocabulary) {
    throw Error(Code::kUsage,
                "--model-config and --vocab-file complete a --model, and none is given", "",
                "name it with --model, or give both files and --init random to train from scratch");
  }
  const auto bundled = find_bundled_model();
  if (!bundled) {
    throw Error(Code::kNotFound, "the bundled model is not installed beside the program", "",
                "name a model with --model");
  }
  return bundled->string();
}

}  // namespace

ResolvedJob resolve_settings(const DataPaths& paths, const CommandLine& asked) {
  Storage& storage = paths.storage();
  CommandLine completed = asked;
  Settings& settings = completed.settings;
  const ModeTraits& mode = traits(settings.mode);
  std::optional<EarlierJob> earlier;
  if (mode.runs_finished_model()) earlier = adopt_earlier_job(storage, completed);
  if (asked.parent_process > 0) settings.training.keeps_weights = false;
  if (!mode.needs_any(kNeedsTokenizer) && settings.model.model.empty()) {
    settings.model.model = default_model(storage, settings);
  }
  for (std::string* model : {&settings.model.model, &settings.distillation.teacher}) {
    *model = local_or_hub_model(storage, *model);
  }
  if (mode.trains() && settings.embedding.has_other_guide()) {
    settings.embedding.guide = local_or_hub_model(storage, settings.embedding.guide);
  }
  DataSources sources = resolve_data(paths, completed, settings);
  if (earlier) {
    for (DataRequest* request : {&sources.eval, &sources.predict, &sources.mismatched}) {
      ColumnChoice& columns = request->rules.columns;
      columns.trained = earlier->columns();
      // An earlier version has read the first text of a pair alone.
      const bool is_document = sources.task && traits(*sources.task).inputs == InputKind::kDocument;
      if (columns.trained && is_document && !earlier->has_pair_rule()) {
        columns.trained->text_pair.clear();
      }
      columns.cuts_words = columns.trained && columns.trained->cuts_words;
    }
  }
  return {.settings = std::move(settings),
          .sources = std::move(sources),
          .is_of_job = earlier.has_value(),
          .labels_are_unrecorded = earlier && !earlier->label_form() &&
                                   has_label_forms(earlier->task()) && !says_label_form(asked),
          .lacks_space_rule = earlier && !earlier->has_space_rule(),
          .scores = earlier ? earlier->scores() : std::nullopt};
}

Settings resolve_export(const Settings& asked, const EarlierJob& earlier) {
  Settings settings = asked;
  settings.model = earlier.first_model(asked.model);
  settings.training.optimization.lora = earlier.lora();
  settings.electra = earlier.electra(asked.electra);
  settings.embedding = earlier.embedding();
  settings.reranking = earlier.settings().reranking;
  settings.data.max_seq_length = earlier.max_seq_length();
  settings.data.label_threshold = earlier.settings().data.label_threshold;
  return settings;
}

}  // namespace berth
