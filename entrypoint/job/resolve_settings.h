#pragma once

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/data_sources.h"
#include "entrypoint/job/earlier_job.h"
#include "storage/storage.h"
#include "trainer/loop/options.h"

namespace berth {

// What a job will do, once everything that its flags imply is filled in. Modes hold it as a
// constant: nothing changes settings after they are resolved.
struct ResolvedJob {
  Settings settings;
  DataSources sources;     // the tables that the data flags name, and how to read them
  bool is_of_job = false;  // the model, and the way of reading rows, come from an earlier job
  // An earlier version of the program began that job, and no flag says how its labels are written.
  bool labels_are_unrecorded = false;
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
ResolvedJob resolve_settings(Storage& storage, const CommandLine& asked);

// The settings of an export of one of `earlier`'s checkpoints: `asked`, with the model that the job
// began with and its adapters.
Settings resolve_export(const Settings& asked, const EarlierJob& earlier);

}  // namespace berth
