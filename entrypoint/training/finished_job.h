#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/labelled_data.h"
#include "storage/base/json.h"
#include "storage/storage.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/loop/evaluate.h"
#include "trainer/model/task.h"

namespace berth {

struct TrainingInputs;

struct FinishedJob {
  int64_t steps = 0;  // the updates that it made
  // false: a part of its model was removed, or has lost bytes, and can be written again
  bool has_model = true;
  Task task = kDefaultTask;
};

// The job in `directory`, if it is finished; nullopt: it is new, was interrupted, or will become
// longer. Throws kIncompatible where the directory cannot be used: it belongs to a job with other
// settings or with several seeds, or it was used before and --no-reuse-job-dir was given. Also
// throws it if the finished job lacks a result that the command line now demands. Throws kNotFound
// if the checkpoints were removed and the job needs one: its model was removed, too, or the
// training is to go on. If only the last checkpoint was removed, the error names an older one.
std::optional<FinishedJob> find_finished_job(Storage& storage, const CommandLine& asked,
                                             const JobDirectory& directory);

// The bytes of each file in `model` that holds parameters: JobMetrics::model_bytes.
std::map<std::string, uint64_t> model_bytes(Storage& storage, const Uri& model);

// Throws kIncompatible if the job in `directory` began with a version that reads rows or tokenizers
// in another way. Also throws it if the files of its tables had other contents.
void require_same_reading(Storage& storage, const JobDirectory& directory,
                          const TrainingInputs& inputs);

// The result of the last evaluation in metrics.json: the part that the model's README.md shows.
std::optional<EvaluationResult> evaluation_of(const OrderedJson& metrics);

// The last evaluation of a job that is finished, if it evaluated the checkpoint of this step.
// `best` is the preferred step of the job. nullopt: it did not, or the job is not finished.
std::optional<EvaluationResult> evaluation_of_step(Storage& storage, const EarlierJob& job,
                                                   int64_t step, int64_t best);

// Writes the model of a finished job of `steps` updates again, which was removed or has lost bytes.
// It comes from the last checkpoint or, with --load-best-model-at-end, from the best one. It reads
// no rows and runs no teacher. metrics.json stays unchanged, except for the sizes of the files.
// Throws kNotFound where that checkpoint is not there, kInUse where another process holds the
// directory, and what CheckpointExport throws.
void write_removed_model(Job& job, const JobDirectory& directory, int64_t steps);

}  // namespace berth
