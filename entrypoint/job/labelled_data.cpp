#include "entrypoint/job/labelled_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "entrypoint/flags/similarity_rules.h"
#include "entrypoint/flags/train_sources.h"
#include "entrypoint/job/odd_labels.h"
#include "entrypoint/job/prompts.h"
#include "entrypoint/report/progress_lines.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/data/cell_text.h"
#include "trainer/data/joined_documents.h"
#include "trainer/data/masking.h"
#include "trainer/inputs/load_model.h"
#include "trainer/tasks/glue.h"

namespace berth {

SearchPrompts row_prompts(const EmbeddingOptions& embedding, Task task) {
  const bool has_own = gives_prompts(embedding) && traits(task).rows == HeadRows::kGroups;
  if (has_own) return {.query = embedding.query_prompt, .passage = embedding.passage_prompt};
  return {.query = embedding.default_prompt, .passage = embedding.default_prompt};
}

namespace {

std::unique_ptr<FeatureMaker> maker_of(const LoadedTable& loaded, Task task,
                                       const std::vector<std::string>& labels, bool labelled,
                                       const Settings& settings, const Tokenizer& tokenizer,
                                       std::vector<float> class_weights) {
  const DataOptions& data = settings.data;
  const EmbeddingOptions& embedding = settings.embedding;
  const std::optional<SimilarityLoss>& loss = embedding.loss;
  FeatureOptions options{
      .task = task,
      .max_seq_length = data.max_seq_length,
      .doc_stride = data.doc_stride,
      .doc_step = data.doc_step,
      .labelled = labelled,
      .num_classes = static_cast<int32_t>(labels.size()),
      .class_weights = std::move(class_weights),
      .max_similarity = data.max_similarity,
      .similarities_are_marks = loss && learns_marks(*loss),
      .relevances_are_probabilities = settings.reranking.loss != RerankingLoss::kSquaredError,
      .seed = settings.training.seed};
  if (makes_embeddings(task)) {
    SearchPrompts prompts = row_prompts(embedding, task);
    options.first_prompt = std::move(prompts.query);
    options.other_prompt = std::move(prompts.passage);
  }
  try {
    if (labelled && traits(task).has_classes) {
      options.classes = loaded.table->labels.classes(labels);
    }
  } catch (const Error& error) {
    throw error.at(loaded.name);
  }
  return make_feature_maker(std::move(options), tokenizer);
}

std::unique_ptr<Masking> masking_of(const LoadedTable& loaded, Task task, const Settings& settings,
                                    const Tokenizer& tokenizer) {
  if (traits(task).labels != LabelKind::kMaskedId || holds_masked(*loaded.table)) return nullptr;
  MaskingOptions options{
      .probability = settings.data.mlm_probability,
      .whole_words = settings.data.whole_word_masking,
      .unspaced = settings.data.words_end_at_spaces ? Unspaced::kInSpaces : Unspaced::kByPieces,
      .seed = settings.training.seed};
  if (traits(task).rows == HeadRows::kReplaced) {  // as google-research/electra masks
    options.masked_share = 0.85;
    options.random_share = 0;
  }
  return std::make_unique<Masking>(tokenizer, options);
}

void require_classes(const LoadedTable& loaded, Task task, const std::vector<std::string>& names) {
  const size_t least = traits(task).labels == LabelKind::kClass ? 2 : 1;
  if (names.size() >= least) return;
  if (names.empty()) throw Error(Code::kBadData, "no row has a label", loaded.name);
  throw Error(Code::kBadData, "every row has the label " + quoted(names.front()), loaded.name,
              "a classifier needs at least two classes");
}

std::vector<std::string> classes_of(const LoadedTable& loaded, Task task,
                                    const std::vector<std::string>& known,
                                    const ModelConfig& config) {
  if (!traits(task).has_classes) return output_labels(task);
  std::vector<std::string> names = loaded.table->labels.names();
  require_classes(loaded, task, names);
  return known.empty() ? choose_labels(config, names) : order_labels(config, known);
}

// Warns where texts to evaluate on are also texts to train on. `keys`: of the rows to train on.
void warn_of_shared_texts(const TrainingRows& rows, const RowKeys& keys) {
  const InputKind inputs = traits(rows.task).inputs;
  const bool has_one_text = inputs == InputKind::kWords ||
                            (inputs == InputKind::kTexts && rows.train.columns.text_pair.empty());
  if (!has_one_text || !rows.eval || rows.eval->table->digest() == rows.train.table->digest()) {
    return;
  }
  const std::unordered_set<uint32_t> known(keys.hashes.begin(), keys.hashes.end());
  const RowKeys own = rows.eval->table->take_keys();
  const auto shared = static_cast<size_t>(
      std::ranges::count_if(own.hashes, [&](uint32_t hash) { return known.contains(hash); }));
  constexpr size_t kFewRows = 3;
  if (shared < kFewRows || shared * 20 <= own.hashes.size()) return;
  const Finding found =
      warning(cat(shared, " of the ", counted(own.hashes.size(), "text"),
                  " to evaluate on are also texts to train on, so the evaluation is too good; take "
                  "them out of one of the two"));
  log_findings(rows.eval->name, {&found, 1});
}

// Warns where no text seems to mean the same as another, because the scores are of another scale.
void warn_of_low_scores(const TrainingRows& rows, double max_similarity) {
  const double largest = rows.train.scale.largest();
  const bool is_low = largest > 0 && largest * 3 <= max_similarity;
  if (rows.task != Task::kSimilarity || max_similarity <= 1 || !is_low) return;
  const Finding found = warning(
      cat("the largest score is ", largest, ", and --max-similarity ", max_similarity,
          " is the score of texts that mean the same; give the largest score of this scale"));
  log_findings(rows.train.name, {&found, 1});
}

// The weights that scikit-learn calls "balanced": rows / (classes * rows of the class). Of tags,
// words are counted.
std::vector<float> balanced(const std::vector<int64_t>& counts) {
  const int64_t rows = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  std::vector<float> weights;
  for (const int64_t count : counts) {
    weights.push_back(count == 0 ? 1
                                 : static_cast<float>(static_cast<double>(rows) /
                                                      static_cast<double>(counts.size()) /
                                                      static_cast<double>(count)));
  }
  return weights;
}

// How often each class occurs in rows: once for each row that has the label, or for each word that
// has the tag.
struct ClassUse {
  std::vector<int64_t> counts{};
  int64_t rows = 0;
};

ClassUse use_of_classes(const ExampleTable& table, const std::vector<uint32_t>& rows, Task task,
                        const std::vector<std::string>& labels) {
  const std::vector<int32_t> classes = table.labels.classes(labels);
  const bool is_of_words = traits(task).labels == LabelKind::kTagPerWord;
  ClassUse use{.counts = std::vector<int64_t>(labels.size()),
               .rows = static_cast<int64_t>(rows.size())};
  for (const uint32_t row : rows) {
    std::vector<int32_t> entries = table.read(row).labels;
    for (int32_t& entry : entries) {
      if (entry >= 0) entry = classes.at(static_cast<size_t>(entry));
    }
    if (!is_of_words) {
      std::ranges::sort(entries);
      entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    }
    for (const int32_t label : entries) {
      if (label >= 0) ++use.counts[static_cast<size_t>(label)];
    }
  }
  return use;
}

// BCEWithLogitsLoss' pos_weight: for each label, the rows without it divided by the rows with it.
// 1 for a label that no row or every row has.
std::vector<float> balanced_positives(const ClassUse& use) {
  std::vector<float> weights;
  for (const int64_t count : use.counts) {
    const int64_t without = use.rows - count;
    weights.push_back(count == 0 || without == 0 ? 1
                                                 : static_cast<float>(static_cast<double>(without) /
                                                                      static_cast<double>(count)));
  }
  return weights;
}

// Tells what was read, so that a wrong column or a class that is missing is seen at the start.
void say_what_was_read(const TrainingRows& rows, const std::vector<int64_t>& counts) {
  const std::string columns = describe_columns(rows.train.columns);
  if (columns.empty()) return;
  const std::string classes =
      counts.empty() ? "" : cat("; rows to train on: ", describe_classes(rows.labels, counts));
  log_info(
      cat(rows.train.name, ": ", counted(rows.train.table->rows(), "row"), ", ", columns, classes));
}

std::vector<float> parse_weights(const std::string& text, const std::vector<std::string>& labels) {
  std::vector<float> weights;
  for (const std::string& part : parted(text, ", ")) {
    const std::optional<double> weight = parse_real(std::string_view(part));
    if (!weight || !(*weight >= 0) || *weight > 1e6) {
      throw Error(Code::kUsage, cat(quoted(part), " is not a weight"), "--class-weights",
                  "give balanced, or a number of at least 0 for each label");
    }
    weights.push_back(static_cast<float>(*weight));
  }
  if (weights.size() == labels.size()) return weights;
  const std::string names = joined(labels, ", ", Quoted());
  throw Error(
      Code::kUsage,
      cat(counted(weights.size(), "weight"), " for ", counted(labels.size(), "label"), ": ", names),
      "--class-weights", "give one for each, in this order");
}

void say_weights(std::string_view flag, const std::vector<std::string>& labels,
                 const std::vector<float>& weights) {
  constexpr size_t kMostNamed = 10;
  std::string text;
  for (size_t i = 0; i < std::min(kMostNamed, labels.size()); ++i) {
    text += cat(i == 0 ? "" : ", ", quoted(labels[i]), " ",
                number_text("%.4g", static_cast<double>(weights[i])));
  }
  if (labels.size() > kMostNamed) text += cat(" and ", labels.size() - kMostNamed, " others");
  log_info(cat(flag, ": ", text));
}

// What --class-weights asks for. `counts` are the rows of each class, where each row has one.
std::vector<float> asked_weights(const std::string& asked, const TrainingRows& rows,
                                 std::vector<int64_t> counts) {
  if (asked.empty()) return {};
  const LabelKind kind = traits(rows.task).labels;
  const bool is_set = kind == LabelKind::kSet;
  if (kind != LabelKind::kClass && kind != LabelKind::kTagPerWord && !is_set) {
    throw Error(Code::kUsage, "the flag is only for tasks with classes, sets of labels or tags",
                "--class-weights");
  }
  std::vector<float> weights;
  if (asked != "balanced") {
    weights = parse_weights(asked, rows.labels);
    say_weights("--class-weights", rows.labels, weights);
    return weights;
  }
  if (kind == LabelKind::kClass) {
    weights = balanced(counts);
  } else {
    const ClassUse use =
        use_of_classes(*rows.train.table, rows.split.train, rows.task, rows.labels);
    weights = is_set ? balanced_positives(use) : balanced(use.counts);
  }
  say_weights("--class-weights balanced", rows.labels, weights);
  return weights;
}

}  // namespace

std::vector<uint32_t> all_rows(const LoadedTable& loaded) {
  std::vector<uint32_t> rows(loaded.table->rows());
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

TokenLimits token_limits(const ModelConfig& config) {
  if (config.vocab_size == 0) return {};  // --mode prepare has no model
  return {.vocab_size = config.vocab_size, .type_vocab_size = config.type_vocab_size};
}

bool chooses_thresholds(const DataOptions& data) {
  return data.label_threshold == kBestThreshold || data.label_threshold == kBestThresholds;
}

namespace {

LabelThresholds label_thresholds(const DataOptions& data, const ModelConfig& config) {
  const std::string& asked = data.label_threshold;
  const size_t known = config.label_thresholds.size(), labels = config.labels.size();
  if (asked.empty()) {
    if (known == 0 || traits(config.task).labels != LabelKind::kSet) return {};
    if (known == labels) return {.given = config.label_thresholds};
    throw Error(
        Code::kUsage,
        cat("the model has ", counted(known, "threshold"), " for ", counted(labels, "label")),
        "label_thresholds in config.json", "give one for each label");
  }
  if (traits(config.task).labels != LabelKind::kSet) {
    throw Error(Code::kUsage, cat("the task ", task_name(config.task), " has no sets of labels"),
                "--label-threshold", "leave the flag out");
  }
  if (asked == kBestThreshold) return {.choice = LabelThresholds::Choice::kBestForAll};
  if (asked == kBestThresholds) return {.choice = LabelThresholds::Choice::kBestForEach};
  const double value = parse_real(std::string_view(asked)).value_or(kUsualThreshold);
  return {.given = std::vector<double>(labels, value)};
}

}  // namespace

PredictionRules prediction_rules(const DataOptions& data, const ModelConfig& config) {
  const GlueTask* const glue = find_glue_task(data.task);
  return {.answers = {.n_best = data.n_best_size,
                      .max_answer_length = data.max_answer_length,
                      .may_be_none = data.has_unanswerable,
                      .null_threshold = data.null_score_diff_threshold},
          .thresholds = label_thresholds(data, config),
          .correlates_classes = glue != nullptr && glue->metric == "matthews_correlation",
          .shorter_sizes = shorter_sizes(config.similarity, config.embedding_dimension())};
}

LabelledData::LabelledData(const LoadedTable& loaded, Task task,
                           const std::vector<std::string>& labels, bool wants_labels,
                           const Settings& settings, const Tokenizer& tokenizer,
                           std::vector<float> class_weights)
    : loaded_(loaded),
      task_(task),
      labelled_(wants_labels && (loaded_.table->labelled || !traits(task).has_label_column)),
      most_to_evaluate_(settings.data.max_eval_samples),
      maker_(maker_of(loaded_, task_, labels, labelled_, settings, tokenizer,
                      std::move(class_weights))),
      masking_(masking_of(loaded_, task_, settings, tokenizer)) {}

Dataset LabelledData::rows(std::vector<uint32_t> rows) const {
  Dataset data(*loaded_.table, std::move(rows), task_, *maker_, labelled_);
  if (masking_ != nullptr) data.mask_with(*masking_);
  return data;
}

Dataset LabelledData::all_rows() const { return rows(berth::all_rows(loaded_)); }

Dataset LabelledData::rows_to_evaluate(std::vector<uint32_t> rows) const {
  const auto most = static_cast<size_t>(most_to_evaluate_);
  if (most > 0 && rows.size() > most) {
    log_info(cat(loaded_.name, ": evaluates on the first ", most, " of ", rows.size(), " rows"));
    rows.resize(most);
  }
  const LabelKind kind = traits(task_).labels;
  const std::string equal = labelled_ ? equal_labels(*loaded_.table, rows, kind) : "";
  if (!equal.empty()) {
    const Finding found = warning(cat(
        "every ", kind == LabelKind::kTagPerWord ? "word" : "row", " to evaluate on has ", equal,
        ", so the evaluation does not show whether a model knows the other labels; give "
        "rows of all labels"));
    log_findings(loaded_.name, {&found, 1});
  }
  try {
    return this->rows(std::move(rows));
  } catch (const Error& error) {
    if (traits(task_).inputs != InputKind::kSentences) throw;
    throw Error(error.code(), cat("in the documents to evaluate on: ", error.problem()),
                error.where(),
                "give more of them by --eval-data-file or a larger --validation-split, or give 0");
  }
}

Features LabelledData::make(uint32_t row) const {
  return std::move(make_features(*loaded_.table, *maker_, row).front());
}

void warn_of_unanswerable(const LoadedTable& loaded, const DataOptions& data) {
  const ExampleTable& table = *loaded.table;
  if (table.unanswerable == 0 || data.has_unanswerable) return;
  const Finding found =
      warning(cat(table.unanswerable, " of the ", table.rows(),
                  " questions have no answer; --version-2-with-negative lets the model say so"));
  log_findings(loaded.name, {&found, 1});
}

namespace {

// Whether the first rows hold [UNK], and no token besides that a text could have.
bool is_all_unknown(Dataset& data, const Tokenizer& tokenizer) {
  constexpr int64_t kMostRows = 1000;
  const std::optional<int32_t> unknown = unknown_id(tokenizer);
  if (!unknown) return false;
  const std::vector<TokenRole> roles = token_roles(tokenizer);
  bool has_unknown = false;
  for (int64_t i = 0; i < std::min(data.size(), kMostRows); ++i) {
    for (const int32_t id : data.features(i).input_ids) {
      const auto place = static_cast<size_t>(id);
      if (id != *unknown && place < roles.size() && roles[place] != TokenRole::kSpecial) {
        return false;
      }
      has_unknown |= id == *unknown;
    }
  }
  return has_unknown;
}

}  // namespace

int64_t join_rows(const Settings& settings, const Tokenizer& tokenizer, Task task,
                  LoadedTable& loaded, Split& split) {
  const DataOptions& data = settings.data;
  if (task != Task::kMaskedLm || data.line_by_line || !holds_texts(*loaded.table)) return 1;
  const JoinOptions options{.block_tokens = data.max_seq_length,
                            .is_one_sequence = data.attends_across_documents,
                            .joins_blank = data.holds_out_blank};
  auto joined = std::make_unique<ExampleTable>();
  joined->name = loaded.table->name;
  const auto join = [&](std::vector<uint32_t>& rows) {
    std::ranges::sort(rows);
    const auto first = static_cast<uint32_t>(joined->rows());
    const size_t documents = rows.size();
    const int64_t most = join_documents(*loaded.table, rows, tokenizer, options, *joined);
    rows.resize(joined->rows() - first);
    std::iota(rows.begin(), rows.end(), first);
    if (documents > 0) {
      log_info(cat(loaded.name, ": ", counted(documents, "row"), " joined to ",
                   counted(rows.size(), "block"), " of ", data.max_seq_length, " tokens",
                   options.is_one_sequence ? ", each one sequence" : ", attended to row by row"));
    }
    return most;
  };
  const int64_t in_training = join(split.train), held_out = join(split.held_out);
  joined->finish();
  loaded.table = std::move(joined);
  return std::max(in_training, held_out);
}

int64_t join_rows(const Settings& settings, const Tokenizer& tokenizer, Task task,
                  LoadedTable& loaded) {
  Split split{.train = all_rows(loaded), .held_out = {}};
  return join_rows(settings, tokenizer, task, loaded, split);
}

std::string hint_for_labels(Dataset& data, const Settings& settings, const Tokenizer& tokenizer) {
  if (traits(data.task()).labels == LabelKind::kMaskedId) {
    if (is_all_unknown(data, tokenizer)) {
      return "all tokens are [UNK], which the vocabulary cannot write: check that the tokenizer "
             "belongs to the model and to this language";
    }
    return settings.data.whole_word_masking
               ? "no token is hidden, because every word has more pieces than may be hidden: leave "
                 "--whole-word-masking out, or raise --mlm-probability"
               : "no token can be hidden: look at the texts, and at the tokenizer by --mode "
                 "tokenize";
  }
  return "look at the labels and at the weights (--label-column, --weight-column) by --mode "
         "inspect";
}

namespace {

// How the rows of a source are read: by its own loss.
DataRequest request_of(const TrainSource& source, const DataRequest& first, size_t number) {
  DataRequest request = first;
  request.role = cat("train_", number + 1);
  request.path = source.file;
  request.rules.columns = {};
  const bool needs_numbers = source.loss && learns_numbers(*source.loss);
  const bool has_none = source.loss && !needs_numbers;
  request.rules.task = has_none ? Task::kInBatchNegatives : Task::kSimilarity;
  request.rules.may_lack_labels = !source.loss;
  request.rules.refuses_both_kinds = !source.loss;
  request.rules.text_scores =
      source.loss && learns_scores(*source.loss) ? LabelNeed::kRequired : LabelNeed::kIgnored;
  return request;
}

// The label of a row as its loss learns it.
float scaled_label(float label, double most, bool is_mark, const std::string& where) {
  const double scaled = double{label} / most;
  if (is_mark && scaled != 0 && scaled != 1) {
    throw Error(Code::kBadData, cat("the label ", label, " is neither 0 nor ", most), where,
                "contrastive losses take no others; loss=cosent or loss=cosine does");
  }
  if (std::abs(scaled) <= 1) return static_cast<float>(scaled);
  throw Error(Code::kBadData, cat("the similarity ", label, " is not from -", most, " to ", most),
              where, "say by max-similarity which label texts have that mean the same");
}

// Appends the rows of a table to `all`. Returns what the job knows of the source.
RowsOfSource append_source(const LoadedTable& loaded, const Settings& own, double weight,
                           ExampleTable& all) {
  const ExampleTable& table = *loaded.table;
  RowsOfSource source{.name = loaded.name,
                      .task = loaded.task,
                      .rows = {.rows = static_cast<int64_t>(table.rows()), .weight = weight}};
  source.objective = similarity_objective(own, loaded.task, /*has_scores=*/true);
  const SimilarityLoss loss = *source.objective.loss;
  for (uint32_t row = 0; row < table.rows(); ++row) {
    Example example = table.read(row);
    if (learns_numbers(loss)) {
      example.text_scores = {scaled_label(example.score, own.data.max_similarity,
                                          learns_marks(loss),
                                          cat(loaded.name, ": row ", table.source_row(row)))};
    }
    if (row == 0) source.texts = std::ssize(example.texts);
    all.append(example);
    all.add_key(example, example.texts.at(0), Task::kInBatchNegatives);
    all.set_source_row(table.source_row(row));
  }
  const bool lacks_negatives = learns_scores(loss) && source.texts < 3;
  const bool is_no_triplet = loss == SimilarityLoss::kTriplet && source.texts != 3;
  if (lacks_negatives || is_no_triplet) {
    throw Error(
        Code::kBadData,
        cat("the loss ", name_of(loss), " does not fit rows of ", counted(source.texts, "text")),
        loaded.name, "give the source another loss, or its rows other negatives");
  }
  return source;
}

void say_source(const RowsOfSource& source, size_t number, const LoadedTable& loaded) {
  const std::string columns = describe_columns(loaded.columns);
  log_info(cat(
      "source ", number, ": ", source.name, ", ",
      counted(static_cast<size_t>(source.rows.rows), "row"), ", ", columns, ", loss ",
      name_of(*source.objective.loss),
      source.rows.weight == 1 ? "" : cat(", weight ", number_text("%.4g", source.rows.weight))));
}

// Adds the rows of all --train-source behind the rows to train on. All rows become rows of
// Task::kInBatchNegatives, and their labels become scores of texts. Fills TrainingRows::sources,
// also of the first source. Throws what the readers throw.
void add_source_rows(const DataPaths& paths, const Settings& settings, const DataSources& sources,
                     TrainingRows& rows) {
  auto all = std::make_unique<ExampleTable>();
  all->name = rows.train.name;
  rows.sources.push_back(append_source(rows.train, settings, /*weight=*/1, *all));
  say_source(rows.sources.back(), 1, rows.train);
  for (const TrainSource& source : train_sources(settings.data)) {
    const size_t number = rows.sources.size();
    const LoadedTable loaded = load_table(paths, request_of(source, sources.train, number));
    rows.sources.push_back(append_source(loaded, source.settings(settings), source.weight, *all));
    say_source(rows.sources.back(), number + 1, loaded);
    rows.train.sources.insert(rows.train.sources.end(), loaded.sources.begin(),
                              loaded.sources.end());
  }
  all->finish();
  rows.train.table = std::move(all);
  rows.train.task = rows.task = Task::kInBatchNegatives;
}

// The numbers that a file's declared classes give to `labels`. Empty: it does not declare all.
std::vector<std::string> numbers_of(const std::vector<std::string>& labels,
                                    const std::vector<std::string>& declared) {
  std::vector<std::string> numbers;
  for (const std::string& label : labels) {
    const auto place = std::ranges::find(declared, label);
    if (place == declared.end()) return {};
    numbers.push_back(std::to_string(place - declared.begin()));
  }
  return numbers;
}

// The rows that a masked language model leaves out, because they have no token to hide.
std::span<const uint32_t> left_out_rows(const TrainingRows& rows, const RowKeys& keys) {
  const bool has_texts = traits(rows.task).labels == LabelKind::kMaskedId &&
                         traits(rows.task).inputs == InputKind::kDocument;
  if (!has_texts || keys.blank.empty() || keys.blank.size() == keys.hashes.size()) return {};
  const Finding found = {"", cat(counted(keys.blank.size(), "row"), " without a text ",
                                 keys.blank.size() == 1 ? "is" : "are", " left out")};
  log_findings(rows.train.name, {&found, 1});
  return keys.blank;
}

// Lets rows to evaluate on have columns of their own, as a finished model's rows may: the columns
// of the training are read where they are there. Texts that are compared may have labels, also
// where the rows to train on have none.
void find_own_columns(const ColumnChoice& trained, const ColumnChoice& asked, Task task,
                      LoadRules& rules) {
  if (traits(task).inputs != InputKind::kTextGroup || traits(task).labels == LabelKind::kChoice) {
    return;
  }
  rules.may_lack_labels = false;
  if (task == Task::kInBatchNegatives) {
    rules.task = Task::kSimilarity;
    rules.may_lack_labels = rules.prefers_groups = true;
    rules.need = LabelNeed::kRequired;
  }
  const bool has_teacher_scores = rules.text_scores != LabelNeed::kIgnored;
  rules.columns = {
      .label = has_teacher_scores ? asked.label : std::string(),
      .weight = rules.columns.weight,
      .unread_label = trained.unread_label,
      .trained = ColumnChoice::Trained{
          .text = trained.text, .text_pair = trained.text_pair, .label = trained.label}};
}

// Loads a table beside the rows to train on, whose task and labels it has.
LoadedTable load_beside(const DataPaths& paths, DataRequest request, const TrainingRows& rows,
                        const ModelConfig& config) {
  request.rules.task = rows.task;
  request.rules.token_limits = token_limits(config);
  if (traits(rows.task).has_classes) {
    request.rules.known_labels = rows.labels;
    request.rules.other_labels = numbers_of(rows.labels, rows.train.declared_classes);
    request.rules.hint_for_unknown =
        "--label-names names all classes, with the classes that no row to train on has; "
        "--skip-bad-rows N leaves such rows out";
  }
  request.rules.labels = rows.train.label_form;
  request.rules.sentence_column = rows.train.sentence_column;
  request.asked = request.rules.columns;
  // If neither a flag nor the task names the columns, they are the same as in the training table.
  if (request.rules.columns.text.empty()) request.rules.columns = rows.train.columns;
  find_own_columns(rows.train.columns, *request.asked, rows.task, request.rules);
  request.rules.columns.may_lack_weights = true;
  return load_table(paths, request);
}

// Says by which columns rows with labels are scored where the rows to train on are texts alone.
void say_scored_pairs(const TrainingRows& rows) {
  if (!rows.scores_pairs()) return;
  log_info(cat(rows.eval->name, ": ", counted(rows.eval->table->rows(), "row"), " to evaluate on, ",
               describe_columns(rows.eval->columns),
               ", with which the cosines of the two texts are compared"));
}

// Loads the rows to evaluate on that have files of their own.
void load_rows_beside(const DataPaths& paths, const DataOptions& data, const DataSources& sources,
                      const ModelConfig& config, TrainingRows& rows) {
  if (!sources.eval.path.empty()) {
    DataRequest eval = sources.eval;
    eval.rules.keeps_keys = true;
    if (sources.eval_is_found) eval.rules.need = LabelNeed::kIfPresent;
    rows.eval = load_beside(paths, eval, rows, config);
    if (rows.train.table->labelled && !rows.eval->table->labelled) {  // as in a contest's data
      const Finding found = warning(
          "no labels in the split to evaluate on, so rows of the split for training are "
          "held out instead; --mode predict predicts the other split");
      log_findings(rows.eval->name, {&found, 1});
      rows.eval.reset();
    } else {
      warn_of_unanswerable(*rows.eval, data);
    }
  }
  say_scored_pairs(rows);
  if (!sources.mismatched.path.empty()) {
    rows.mismatched = load_beside(paths, sources.mismatched, rows, config);
  }
}

}  // namespace

TrainingRows load_training_rows(const DataPaths& paths, const Settings& settings,
                                const DataSources& sources, const ModelConfig& config) {
  const DataOptions& data = settings.data;
  DataRequest train = sources.train;
  train.rules.keeps_keys = true;
  train.rules.known_labels = sources.labels;
  train.rules.known_are_usual = sources.labels_are_usual;
  train.rules.token_limits = token_limits(config);
  TrainingRows rows{.task = {}, .labels = {}, .train = load_table(paths, train)};
  rows.task = rows.train.task;
  if (!data.train_sources.empty()) add_source_rows(paths, settings, sources, rows);
  require_use_of_names(sources, rows.task);
  warn_of_unanswerable(rows.train, data);
  rows.labels = classes_of(rows.train, rows.task, rows.train.known_labels, config);
  const bool evaluates = traits(settings.mode).reads(kTrainRows | kEvalRows);
  if (evaluates) load_rows_beside(paths, data, sources, config, rows);
  if (rows.eval) {
    const bool is_of_one = rows.eval->name == rows.train.name;
    const std::string scales =
        other_scale(is_of_one ? "the rows to evaluate on" : rows.eval->name, rows.eval->scale,
                    is_of_one ? "the rows to train on" : rows.train.name, rows.train.scale);
    if (!scales.empty()) log_warning(scales);
  }
  RowKeys keys = rows.train.table->take_keys();
  if (data.holds_out_blank) keys = as_before_blank_rule(std::move(keys));
  warn_of_shared_texts(rows, keys);
  warn_of_low_scores(rows, data.max_similarity);
  const uint64_t seed = settings.training.seed;
  const bool holds_rows_out = evaluates && !rows.eval && rows.sources.empty();
  rows.split =
      stratified_split(keys, holds_rows_out ? data.validation_split : 0, left_out_rows(rows, keys));
  rows.split.train = stratified_fraction(rows.split.train, keys.strata, data.data_fraction, seed);
  if (data.max_train_samples > 0) {
    rows.split.train = chosen_rows(rows.split.train, data.max_train_samples, seed);
  }
  const bool should_hold_out =
      holds_rows_out && traits(settings.mode).evaluates_training() && data.validation_split > 0;
  log_findings(rows.train.name, look_at_labels(rows, should_hold_out));
  std::vector<int64_t> counts;  // of the rows of each class, where each row has one
  if (traits(rows.task).labels == LabelKind::kClass && rows.train.table->labelled) {
    counts = rows_of_classes(rows.split.train, keys.strata,
                             rows.train.table->labels.classes(rows.labels), rows.labels.size());
  }
  if (rows.sources.empty()) say_what_was_read(rows, counts);
  rows.class_weights =
      asked_weights(settings.training.optimization.class_weights, rows, std::move(counts));
  return rows;
}

std::string describe_columns(const ColumnChoice& columns) {
  if (columns.text.empty()) return "";
  std::string text = cat("text ", quoted(columns.text));
  if (!columns.text_pair.empty()) text += cat(" and ", quoted(columns.text_pair));
  if (!columns.others.empty()) {
    text += cat(columns.label.empty() ? ", negatives " : ", choices ", quoted_list(columns.others));
  }
  if (!columns.label.empty()) text += cat(", labels ", quoted(columns.label));
  if (!columns.weight.empty()) text += cat(", weights ", quoted(columns.weight));
  return text;
}

std::vector<int64_t> rows_of_classes(const std::vector<uint32_t>& rows,
                                     const std::deque<int32_t>& strata,
                                     const std::vector<int32_t>& classes, size_t num_classes) {
  std::vector<int64_t> counts(num_classes);
  for (const uint32_t row : rows) {
    ++counts[static_cast<size_t>(classes[static_cast<size_t>(strata[row])])];
  }
  return counts;
}

std::string describe_classes(const std::vector<std::string>& labels,
                             const std::vector<int64_t>& counts) {
  constexpr size_t kMostNamed = 10, kLargest = 7;
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  size_t named = order.size();
  if (order.size() > kMostNamed) {
    named = kLargest;
    std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return counts[i]; });
  }
  std::string text;
  for (size_t i = 0; i < named; ++i) {
    text += cat(i == 0 ? "" : ", ", quoted(labels[order[i]]), " ", counts[order[i]]);
  }
  if (named == order.size()) return text;
  const int64_t most = counts[order[named]], least = counts[order.back()];
  text += cat(", and ", order.size() - named, " others with ", least);
  if (most > least) text += cat(" to ", most);
  return text;
}

}  // namespace berth
