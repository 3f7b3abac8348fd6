#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "entrypoint/job/job.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/resolve_settings.h"
#include "entrypoint/training/job_probes.h"
#include "entrypoint/training/teacher.h"
#include "trainer/data/dataset.h"
#include "trainer/inputs/job_record.h"
#include "trainer/inputs/load_model.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/retrieval_set.h"

namespace berth {

// The inputs of a training job: its settings, the model with which it starts, and its rows.
struct TrainingInputs {
  ResolvedJob resolved;
  std::unique_ptr<ModelFolder> folder;  // the model's files; its parameters are not read yet
  ModelDescription model;               // its configuration has the task and the labels of the rows
  TrainingRows rows;
  std::unique_ptr<RetrievalSet> retrieval;  // what --eval-retrieval names; null: nothing
  std::unique_ptr<ModelFolder> generator;   // what --generator names; null: nothing
  std::unique_ptr<Teacher> teacher;         // or the guide; null: there is none
  std::unique_ptr<JobProbes> probes;        // null: there are none
  size_t program_bytes;  // the memory of the process without the rows; see program_bytes()

  // Whether the model learns a language from random parameters, from rows without labels.
  bool pretrains_from_random() const;
  const Settings& settings() const { return resolved.settings; }
  ReadingOptions reading() const;  // how predictions become labels or answers
  // The name of the evaluation rows in reports. They have a file of their own, or are held out.
  const char* eval_split() const {
    return rows.eval || (retrieval && rows.split.held_out.empty()) ? "eval" : "validation";
  }
};

// The first phase: resolves the settings, checks that the job can be done, describes the model and
// loads the rows. Writes nothing. Throws kUsage where model, rows and flags do not fit together,
// kStopped, and what the readers throw.
TrainingInputs read_inputs(const Job& job);

// Adds the tables of the job, and how these and the tokenizer were read.
void add_reading(JobRecord& record, const TrainingInputs& inputs);

// The rows of a training job as data sets. Borrows `inputs`. Its members borrow from each other, so
// it cannot be copied or moved.
class TrainingData {
 public:
  explicit TrainingData(const TrainingInputs& inputs);
  TrainingData(const TrainingData&) = delete;
  TrainingData& operator=(const TrainingData&) = delete;

  Dataset& train() { return train_; }
  std::optional<Dataset>& eval() { return eval_; }  // nullopt: the job does not evaluate

  size_t target_bytes();  // the memory that the teacher's outputs take
  // Lets the teacher or guide, if there is one, make its outputs for all rows. Called before they
  // are packed. They are stored in files of `directory`, so that a resumed job does not compute
  // them again.
  void ask_teacher(Storage& storage, const Uri& directory);

 private:
  std::vector<uint32_t> vectors_of_rows(const LoadedTable& loaded);
  void collect_texts();
  TextVectors embed_texts(const char* name, RowTexts& texts, Storage& storage,
                          const Uri& directory);

  const TrainingInputs& inputs_;
  const LabelledData train_examples_, eval_examples_;
  Dataset train_;
  std::optional<Dataset> eval_;
  std::optional<RowTargets> train_targets_, eval_targets_;
  // Where another model embeds the texts of rows: these texts, and then their vectors.
  std::optional<RowTexts> train_texts_, eval_texts_;
  std::optional<TextVectors> train_vectors_, eval_vectors_;
};

}  // namespace berth
