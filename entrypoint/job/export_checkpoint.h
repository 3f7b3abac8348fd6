#pragma once

#include <cstdint>
#include <optional>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/job.h"
#include "storage/storage.h"
#include "trainer/loop/checkpoint.h"
#include "trainer/loop/evaluate.h"

namespace berth {

// Writes the model of a checkpoint of `earlier` into `directory`, with the formats that the flags
// ask for. Reads the model's folder for its configuration and tokenizer, but no rows. `evaluation`
// is what the model's README.md tells. Throws kNotFound and kCorrupt where the checkpoint of `step`
// is not complete, kUsage where it cannot be exported as asked, and what storage throws.
void export_checkpoint(Job& job, const EarlierJob& earlier, CheckpointStore& checkpoints,
                       int64_t step, const Uri& directory,
                       const std::optional<EvaluationResult>& evaluation = std::nullopt);

}  // namespace berth
