#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/modes/data_sources.h"
#include "trainer/data/dataset.h"
#include "trainer/data/features.h"
#include "trainer/data/split.h"
#include "trainer/loop/load_data.h"
#include "trainer/loop/options.h"
#include "trainer/model/config.h"
#include "trainer/tasks/answer_options.h"
#include "trainer/text/tokenizer.h"

namespace berth {

std::vector<uint32_t> all_rows(const LoadedTable& loaded);

AnswerOptions answer_options(const DataOptions& data);

// The ids that records may hold for this model.
TokenLimits token_limits(const ModelConfig& config);

// How a table's rows become features. Borrows the table and the tokenizer; the data sets borrow
// from this.
class LabelledData {
 public:
  // `labels`: the classes' names; empty where the rows' labels are not wanted. Throws kBadData,
  // naming the row, on a label that is not among them.
  LabelledData(const LoadedTable& loaded, Task task, const std::vector<std::string>& labels,
               bool wants_labels, const Settings& settings, const Tokenizer& tokenizer,
               std::vector<float> class_weights = {});

  Dataset rows(std::vector<uint32_t> rows) const;
  Dataset all_rows() const;
  // Of one row, not kept. Not for questions.
  Features make(uint32_t row) const;

 private:
  const LoadedTable& loaded_;
  const Task task_;
  const bool labelled_;
  const std::unique_ptr<FeatureMaker> maker_;
};

// The rows of a training job, cut into those to train on and those to evaluate on.
struct TrainingRows {
  Task task;
  std::vector<std::string> labels;  // the classes' names; of a score "score", of answers none
  LoadedTable train;
  std::optional<LoadedTable> eval{}, mismatched{};
  Split split{};  // of the training table; held_out is used when there is no eval table
  std::vector<float> class_weights{};  // empty: all 1
};

// Says where questions have no answer and the model was not allowed to say so.
void warn_of_unanswerable(const LoadedTable& loaded, const DataOptions& data);

// Loads and splits what `sources` names. `config` is what the model's file says.
TrainingRows load_training_rows(Storage& storage, const Settings& settings,
                                const DataSources& sources, const ModelConfig& config);

}  // namespace berth
