#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/job/resolve_settings.h"
#include "trainer/data/dataset.h"
#include "trainer/data/example_table.h"
#include "trainer/data/features.h"
#include "trainer/data/find_columns.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/options.h"
#include "trainer/inputs/sentence_files.h"
#include "trainer/model/config.h"
#include "trainer/tasks/prediction_rules.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The numbers of all rows of a table, in order.
std::vector<uint32_t> all_rows(const LoadedTable& loaded);

// How logits become predictions. Where no flag gives the thresholds of labels, they are the
// configuration's. Throws kUsage where a flag gives some and the task has no sets of labels.
PredictionRules prediction_rules(const DataOptions& data, const ModelConfig& config);
// Whether evaluations choose the thresholds of labels.
bool chooses_thresholds(const DataOptions& data);

// The token ids that records may hold for this model.
TokenLimits token_limits(const ModelConfig& config);

// What stands before the first text of a row and before the others, where they are embedded.
SearchPrompts row_prompts(const EmbeddingOptions& embedding, Task task);

// Turns the rows of a table into features, and masks them for masked language models. Borrows the
// table and the tokenizer. The data sets that it makes borrow from it.
class LabelledData {
 public:
  // `labels`: the names of the classes; empty where the labels of the rows are not wanted. Throws
  // kBadData, naming the row, on a label that is not among them.
  LabelledData(const LoadedTable& loaded, Task task, const std::vector<std::string>& labels,
               bool wants_labels, const Settings& settings, const Tokenizer& tokenizer,
               std::vector<float> class_weights = {});

  Dataset rows(std::vector<uint32_t> rows) const;
  Dataset all_rows() const;
  // The first of these rows, as many as --max-eval-samples lets be evaluated on.
  Dataset rows_to_evaluate(std::vector<uint32_t> rows) const;
  Dataset rows_to_evaluate() const { return rows_to_evaluate(berth::all_rows(loaded_)); }
  // The features of one row, which are not cached. Not for questions, which have several.
  Features make(uint32_t row) const;

 private:
  const LoadedTable& loaded_;
  const Task task_;
  const bool labelled_;
  const int64_t most_to_evaluate_;  // 0: no limit
  const std::unique_ptr<FeatureMaker> maker_;
  const std::unique_ptr<Masking> masking_;  // null where the task masks nothing
};

// One of several sources of the rows to train on.
struct RowsOfSource {
  std::string name{};
  Task task{};  // of its rows alone
  RowSource rows{};
  int64_t texts = 0;  // of a row
  SimilarityObjective objective{};
};

// The rows of a training job, cut into those to train on and those to evaluate on.
struct TrainingRows {
  Task task;
  std::vector<std::string> labels;  // the names of the model's outputs; none for answers
  LoadedTable train;
  std::optional<LoadedTable> eval{}, mismatched{};
  Split split{};  // cuts the training table; held_out is used where there is no eval table
  std::vector<RowsOfSource> sources{};  // of the training table; empty: there is one
  // A weight for each class or tag, or each label's positive weight (LossOptions). Empty: all
  // are 1.
  std::vector<float> class_weights{};

  // Whether rows to evaluate on have labels, and the rows to train on are texts alone.
  bool scores_pairs() const {
    return task == Task::kInBatchNegatives && eval && eval->task == Task::kSimilarity;
  }
  // The task of the rows to evaluate on.
  Task eval_task() const { return scores_pairs() ? eval->task : task; }
};

// Warns where questions have no answer and the flags do not let the model say so.
void warn_of_unanswerable(const LoadedTable& loaded, const DataOptions& data);

// Replaces the rows of a table by blocks that are full, where a masked language model reads texts
// and no flag asks for --line-by-line. The rows of `split` become blocks by themselves, and other
// rows are dropped. Returns the most sequences of a block; 1 where nothing was joined. Throws
// what the tokenizer throws.
int64_t join_rows(const Settings& settings, const Tokenizer& tokenizer, Task task,
                  LoadedTable& loaded, Split& split);
// The same of all rows.
int64_t join_rows(const Settings& settings, const Tokenizer& tokenizer, Task task,
                  LoadedTable& loaded);

// What to do where no row of `data` has a label.
std::string hint_for_labels(Dataset& data, const Settings& settings, const Tokenizer& tokenizer);

// Loads the tables that `sources` names, finds the task and the labels, and splits the training
// rows. `config` is the configuration of the model to start from. Throws kBadData where the rows do
// not fit the task, kUsage where --class-weights does not, and what the readers throw.
TrainingRows load_training_rows(const DataPaths& paths, const Settings& settings,
                                const DataSources& sources, const ModelConfig& config);

// `text "sentence1" and "sentence2", labels "label"`: the columns and their roles. Empty if the
// rows have no columns.
std::string describe_columns(const ColumnChoice& columns);

// How many of `rows` belong to each class. `strata` has the stratum of every row, and `classes` the
// class of every stratum (RowKeys, LabelDictionary).
std::vector<int64_t> rows_of_classes(const std::vector<uint32_t>& rows,
                                     const std::deque<int32_t>& strata,
                                     const std::vector<int32_t>& classes, size_t num_classes);

// "sport 450, food 449, ...": the classes in their order. Of more than ten, it names the seven
// largest and says how small the others are.
std::string describe_classes(const std::vector<std::string>& labels,
                             const std::vector<int64_t>& counts);

}  // namespace berth
