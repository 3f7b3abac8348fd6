#pragma once

#include <cstdint>
#include <optional>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/job.h"
#include "storage/storage.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/load_model.h"
#include "trainer/loop/results.h"

namespace berth {

// The export of one checkpoint of an earlier job, in the formats that the flags ask for. Borrows
// the job, and `earlier` while it is constructed.
class CheckpointExport {
 public:
  // Reads the model's folder for its configuration and tokenizer, but no rows. Throws kUsage where
  // the model cannot be exported as asked, and what storage throws. Writes nothing.
  CheckpointExport(Job& job, const EarlierJob& earlier);

  // Writes the model of the checkpoint of `step` into `directory`, which the caller holds.
  // `evaluation` is the evaluation in the model's README.md. Throws kNotFound and kCorrupt where
  // the checkpoint is not complete, kBadData where a number does not fit --export-dtype, and what
  // storage throws. Called once.
  void write(CheckpointStore& checkpoints, int64_t step, const Uri& directory,
             const std::optional<EvaluationResult>& evaluation = std::nullopt);

 private:
  Job& job_;
  const Settings settings_;
  ModelDescription model_;
  JobMetrics metrics_;
};

}  // namespace berth
