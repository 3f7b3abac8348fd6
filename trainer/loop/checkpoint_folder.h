#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "storage/storage.h"

namespace berth {

// The checkpoints of a job as a folder of folders, without a look into their files.

// The folder of the checkpoint after `step` updates: DIR/step-00000500.
Uri step_directory(const Uri& directory, int64_t step);

struct FoundCheckpoint {
  bool is_complete = false;  // has a manifest, and all files that belong to it
  uint64_t size_bytes = 0;
};
// The checkpoints in `directory`, by their steps.
std::map<int64_t, FoundCheckpoint> find_checkpoints(Storage& storage, const Uri& directory);

// Removes a checkpoint, the manifest first: one that is removed in part is never taken for
// complete. What a killed process left in a local folder goes, too. An absent checkpoint is no
// error.
void remove_checkpoint(Storage& storage, const Uri& directory, int64_t step);

// Removes temporary files of checkpoints that killed processes left in a local directory. They are
// no objects, so nothing else finds them, and they are as large as checkpoints.
void remove_unfinished_checkpoints(const Uri& directory);

}  // namespace berth
