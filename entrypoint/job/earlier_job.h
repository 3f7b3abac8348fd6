#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/job.h"
#include "storage/base/json.h"
#include "storage/storage.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/label_form.h"
#include "trainer/data/odd_rows.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/inputs/job_record.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/options.h"
#include "trainer/model/lora.h"
#include "trainer/model/task.h"
#include "trainer/model/update.h"

namespace berth {

// The job in a directory, as job.json describes it. A value.
class EarlierJob {
 public:
  // nullopt: `directory` has no job.json. Throws as the constructor does.
  static std::optional<EarlierJob> find(Storage& storage, const Uri& directory);
  // Throws kIncompatible where `job_json` is not a job.json of berth.
  EarlierJob(const Uri& directory, std::string_view job_json);

  const Uri& directory() const { return directory_.root(); }
  // The value of a flag, by its canonical name; empty where an older version did not know the flag.
  std::string setting(std::string_view name) const;
  // All values, as the flag table reads them. A value that job.json lacks, or that this version
  // refuses, is the default.
  const Settings& settings() const { return settings_; }
  const std::vector<std::string>& labels() const { return labels_; }
  // The files that it has read, with their checksums.
  const std::vector<Source>& sources() const { return sources_; }
  // How the labels of its rows are written. nullopt: an older version did not record it.
  const std::optional<LabelForm>& label_form() const { return label_form_; }
  // The columns of CoNLL that the job has used, by their numbers; empty: none are known.
  const std::string& words() const { return words_; }
  const std::string& tags() const { return tags_; }
  // The columns of another table that it was trained on. nullopt: none are known.
  const std::optional<ColumnChoice::Trained>& columns() const { return columns_; }
  // Of the scores that it was trained on. nullopt: it has none, or they are not known.
  const std::optional<ScoreRange>& scores() const { return scores_; }
  LoraOptions lora() const;  // describes the adapters in its checkpoints
  Task task() const;
  // The generator of the job, if it had one. A generator in `options` has priority.
  ElectraOptions electra(ElectraOptions options) const;
  // Pooling, normalization and prompts, as the job asked for them.
  EmbeddingOptions embedding() const;
  int32_t max_seq_length() const { return settings_.data.max_seq_length; }
  // What --embedding-mini-batch-size auto became; see JobRecord.
  std::optional<int64_t> mini_batch() const { return mini_batch_; }
  int64_t vector_size() const { return vector_size_; }  // ModelConfig::vector_size

  // Whether its decoder has weights of its own beside the word embeddings (resolve_decoder()).
  bool has_own_decoder() const { return has_own_decoder_; }
  // Whether its rows had words with kSpaceRule (trainer/data/features.h).
  bool has_space_rule() const { return has_space_rule_; }
  // Whether its rows were shuffled with kRunsRule (trainer/data/dataset.h).
  bool has_runs_rule() const { return has_runs_rule_; }
  // Whether it divided rows without a text with kBlankRule (trainer/data/example_table.h).
  bool has_blank_rule() const { return has_blank_rule_; }
  // Whether it read both texts of a pair as one document with kPairRule
  // (trainer/data/example_table.h).
  bool has_pair_rule() const { return has_pair_rule_; }

  Uri model() const;        // the directory of its finished model
  Uri checkpoints() const;  // the directory of its checkpoints

  // The model that the job began with, without its parameters (Init::kRandom). A model in `options`
  // has priority.
  ModelOptions first_model(ModelOptions options) const;

 private:
  void take_reading(const JsonObject& reading);
  void take_source(const JsonObject& source);

  Uri place(std::string_view setting, const Uri& part) const;

  JobDirectory directory_;
  std::map<std::string, std::string, std::less<>> values_;
  Settings settings_;
  std::vector<std::string> labels_;
  std::vector<Source> sources_;
  std::optional<LabelForm> label_form_;
  std::string task_, words_, tags_;
  std::optional<ColumnChoice::Trained> columns_;
  std::optional<ScoreRange> scores_;
  int64_t vector_size_ = 0;
  std::optional<int64_t> mini_batch_;
  bool has_own_decoder_ = false;
  bool has_space_rule_ = false;
  bool has_runs_rule_ = false;
  bool has_blank_rule_ = false;
  bool has_pair_rule_ = false;
};

// A job keeps its way of reading rows to its end, even if a later version reads them in another
// way. Its job.json lacks the flag --line-by-line if it is older than the joining of documents.

// Lets `command_line` read rows as `earlier` does: line by line, with spaces alone between words,
// and in the order of the table, if it is older. Throws kIncompatible where a flag asks for
// something else.
void keep_reading_of(const EarlierJob& earlier, CommandLine& command_line);

// The command line with the reading of the job in `directory`, if there is one.
CommandLine with_reading_of_job(Storage& storage, const JobDirectory& directory,
                                CommandLine command_line);

// Whether the files that job.json names have the bytes that the job has read, and `asked` names the
// same places. If this version refuses them, then another version has begun the job.
bool has_files_of(Storage& storage, const EarlierJob& earlier, const Settings& asked);

// Each machine resolves --precision auto for its own device (make_device()). These functions decide
// what one machine cannot decide alone: the precision of a job that an earlier process began, and
// the precision of workers that compute together.

// The precision in the job.json of `directory`, which is kAuto if the job began with "auto".
// nullopt: the directory has no job.json, or it names no precision of a
// training. Throws kIncompatible where the file is not a job.json of berth.
std::optional<Precision> precision_of_job(Storage& storage, const JobDirectory& directory);

// The command line of `job`. If no flag names a precision and `directory` holds a job, the
// precision is the one in its job.json. Throws what precision_of_job() throws.
CommandLine with_precision_of_job(const Job& job, const JobDirectory& directory);

// The values of the settings that an older job.json does not name: the defaults, but fp32 as the
// precision, which was what such a job computed in, and with --line-by-line.
SettingsTable unnamed_settings();

// The precision of all workers.
struct SharedPrecision {
  Precision precision;       // worker 0's, because only worker 0 may know the precision in the
                             // job's directory
  WithoutBf16 without_bf16;  // the first worker that does not multiply it
  // How worker 0 reads rows, which follows from the job's directory, too (DataOptions).
  bool reads_in_order = false, words_end_at_spaces = false, holds_out_blank = false;
};

// Compares the workers of a job, which all call it. Throws kIncompatible on all of them where a
// flag of one names another precision than worker 0 goes on with.
SharedPrecision share_precision(const Job& job, Communicator& ranks);

// The command line with the --save-total-limit of the job in `directory`, unless a flag names
// another. Jobs of earlier versions kept all checkpoints, and go on so. Only the flag itself keeps
// checkpoints from making room on a full disk: it asks for all of them if it is 0.
CommandLine with_checkpoint_limit_of_job(Storage& storage, const JobDirectory& directory,
                                         CommandLine command_line);

// The command line with the --embedding-mini-batch-size of the job in `directory`, unless a flag
// names another. Jobs of earlier versions embedded all rows at once.
CommandLine with_mini_batch_of_job(Storage& storage, const JobDirectory& directory,
                                   CommandLine command_line);

}  // namespace berth
