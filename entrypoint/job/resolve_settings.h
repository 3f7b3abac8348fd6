#pragma once

#include <optional>
#include <string>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/earlier_job.h"
#include "trainer/inputs/data_source.h"
#include "trainer/inputs/load_data.h"
#include "trainer/inputs/options.h"
#include "trainer/model/task.h"
#include "trainer/text/tokenizer.h"

namespace berth {

// The tables that the data flags of a job name, and how to read them. A GLUE task supplies files
// and columns, a meta data file supplies labels and the task.
struct DataSources {
  std::optional<Task> task{};  // nullopt: it is inferred from the data
  // The labels of --label-names or of the benchmark; empty: the labels in the data.
  std::vector<std::string> labels{};
  bool labels_are_given = false;           // by --label-names
  bool labels_are_usual = false;           // of the benchmark
  std::string metric{};                    // the benchmark's metric; empty: the task's
  DataRequest train{}, eval{}, predict{};  // the path is empty where no file was given
  DataRequest mismatched{};                // MNLI's second evaluation set
  bool eval_is_found = false;              // in the folder of `train`, and no flag names it
};

// Completes `settings` with the values that its data flags imply, as part of resolve_settings():
// the files of --data-dir, the sequence length of --input-meta-data-path unless `command_line`
// gives one, and the size of evaluation batches if there is a token budget. Throws kUsage on an
// unknown task and on --label-names that are empty or equal. Throws kNotFound if the meta data file
// does not exist, and kBadData if it does not have the form of run_classifier.py's.
DataSources resolve_data(const DataPaths& paths, const CommandLine& command_line,
                         Settings& settings);

// Completes both where the rows to train on lie in an archive of splits, as resolve_data() does for
// a folder of splits. Fetches the archive, so it is called after preflight(), which finds mistakes
// in other flags first. Throws what DataSource::splits() throws.
void use_archived_splits(const DataPaths& paths, const CommandLine& command_line,
                         Settings& settings, DataSources& sources);

// Throws kUsage where --label-names were given and the task has no classes.
void require_use_of_names(const DataSources& sources, Task task);

// Makes the loading of shards of tokens throw kBadData where another tokenizer made them. The
// tokenizer is borrowed while the sources are loaded.
void expect_tokenizer(const Tokenizer& tokenizer, DataSources& sources);

// What a job will do, once everything that its flags imply is filled in. Modes hold it as a
// constant: nothing changes settings after they are resolved.
struct ResolvedJob {
  Settings settings;
  DataSources sources;     // the tables that the data flags name, and how to read them
  bool is_of_job = false;  // the model, and the way of reading rows, come from an earlier job
  // An earlier version of the program began that job, and no flag says how its labels are written.
  bool labels_are_unrecorded = false;
  // That job's rows had no word with kSpaceRule (trainer/data/features.h), or an earlier version of
  // the program read them.
  bool lacks_space_rule = false;
  std::optional<ScoreRange> scores{};  // of the earlier job, if known
};

// Completes what the flags and the platform ask for, in this order:
//   1. --mode eval, predict and embed take over the model of the job that they mean, and how it
//   read rows
//      where no flag says otherwise;
//   2. a job that names no model gets the bundled one, or JOB_DIR/model to evaluate and predict;
//   3. a run inside another job (run_self()) keeps no weights;
//   4. --data-dir, --input-meta-data-path and --token-budget supply files, the sequence length and
//      the evaluation batch size.
// For the modes that read rows. Reads job.json and the meta data file. Throws kUsage on flags that
// do not fit together, and kBadData on a malformed meta data file. Throws kNotFound if the earlier
// job has not finished or a file is missing.
ResolvedJob resolve_settings(const DataPaths& paths, const CommandLine& asked);

// The settings of an export of one of `earlier`'s checkpoints: `asked`, with the model that the job
// began with and its adapters.
Settings resolve_export(const Settings& asked, const EarlierJob& earlier);

}  // namespace berth
