#include "entrypoint/job/data_sources.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "entrypoint/flags/data_files.h"
#include "storage/archive.h"
#include "storage/archived_storage.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/tfrecord.h"
#include "storage/whole_file.h"
#include "trainer/loop/split_folder.h"
#include "trainer/tasks/glue.h"
#include "trainer/text/tokenizer_checksum.h"

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
void use_splits(Storage& storage, const CommandLine& command_line, Settings& settings,
                DataSources& sources) {
  DataOptions& data = settings.data;
  const bool reads_both = traits(settings.mode).reads(kTrainRows | kEvalRows);
  const auto folder = find_split_folder(storage, Uri::parse(data.train_data_file));
  if (!folder) return;
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
std::optional<bool> trains_on_archive(Storage& storage, const DataOptions& data) {
  const bool is_benchmark = find_glue_task(data.task) != nullptr && !data.data_dir.empty();
  if (is_benchmark || data.train_data_file.empty()) return std::nullopt;
  return find_archive(storage, Uri::parse(data.train_data_file)).has_value();
}

// What the tags of words say, by the name of the task.
std::string tags_of(const std::string& task) {
  const std::string name = lower_ascii(task);
  return name == "ner" || name == "pos" || name == "chunk" ? name : "";
}

}  // namespace

DataSources resolve_data(Storage& storage, const CommandLine& command_line, Settings& settings) {
  DataOptions& data = settings.data;
  complete_data_files(data, settings.mode);
  const GlueTask* glue = find_glue_task(data.task);
  DataSources sources{.task = glue != nullptr ? std::optional(glue->task) : find_task(data.task)};
  const auto& loss = settings.embedding.loss;
  if (sources.task == Task::kSimilarity && loss == SimilarityLoss::kInBatchNegatives) {
    sources.task = Task::kInBatchNegatives;
  }
  // A teacher tells more of a text than its masked tokens do, so its outputs take their place.
  if (sources.task == Task::kMaskedLm && !settings.distillation.teacher.empty()) {
    const bool is_of_tokens = settings.distillation.target == DistillationTarget::kHiddenStates;
    sources.task = is_of_tokens ? Task::kHiddenStateDistillation : Task::kEmbeddingDistillation;
  }
  if (glue != nullptr) {
    sources.labels = glue->labels;
    sources.metric = glue->metric;
  }
  if (trains_on_archive(storage, data) == false) {
    use_splits(storage, command_line, settings, sources);
  }
  const bool scores_halves = glue != nullptr && !glue->eval_mismatched.empty() &&
                             traits(settings.mode).scores() && data.data_dir.empty();
  if (scores_halves && !data.eval_data_file.empty()) {
    const auto folder = find_split_folder(storage, Uri::parse(data.eval_data_file));
    if (folder && split_for(folder->splits, "eval_mm")) {
      sources.mismatched.path = data.eval_data_file;
    }
  }
  std::vector<std::string> record_labels;
  if (!data.input_meta_data_path.empty()) {
    const MetaData meta = read_meta_data(storage, data.input_meta_data_path);
    record_labels = apply(meta, command_line, data, sources);
  }
  if (!data.label_names.empty()) {
    sources.labels = parse_label_names(data.label_names);
    sources.labels_are_given = true;
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
                                           .id = command_line.tool.id_column},
                               .labels = data.labels,
                               .sentence_column = data.sentence_column,
                               .need = need,
                               .may_lack_labels = !loss,
                               .skip_bad_rows = data.skip_bad_rows,
                               .places = role == std::string_view("train") ? AnswerPlaces::kExact
                                                                           : AnswerPlaces::kAny,
                               .labels_by_number = sources.labels_are_given,
                               .record_labels = record_labels},
                     .form = data.text_form};
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

void use_archived_splits(Storage& storage, const CommandLine& command_line, Settings& settings,
                         DataSources& sources) {
  if (trains_on_archive(storage, settings.data) != true) return;
  use_splits(storage, command_line, settings, sources);
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

}  // namespace berth
