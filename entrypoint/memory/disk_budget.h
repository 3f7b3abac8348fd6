#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/volume.h"

namespace berth {

// The large files that a training job writes.
struct DiskUse {
  uint64_t checkpoint_bytes = 0, model_bytes = 0, teacher_bytes = 0;
  // Checkpoints that exist at once, with the one that is being written. The job needs `least` of
  // them: if the disk is full, it removes all others.
  int64_t least_checkpoints = 0, most_checkpoints = 0;
  int64_t kept_checkpoints = 0;  // at most, when the job is finished
  int64_t other_seeds = 0;       // that train in the same place, before and after this one
  bool gives_up = true;          // whether older checkpoints make room
};

// What the job writes to one file system.
struct DiskNeed {
  std::string place;
  uint64_t least_bytes = 0, most_bytes = 0;
  uint64_t own_bytes = 0;          // of earlier processes of the job, which are replaced or counted
  std::optional<Volume> volume{};  // nullopt: an object store, which has no size
};

struct DiskBudget {
  DiskUse use{};
  std::vector<DiskNeed> needs{};  // none: the job keeps no weights
};

// The approximate size of a job's small files: event files, report.html, records.
inline constexpr uint64_t kSmallFilesBytes = uint64_t{1} << 19;

// The bytes that a file system needs for these parts of the job.
struct DiskParts {
  bool checkpoints = false, model = false, teacher = false;
};
uint64_t least_bytes(const DiskUse& use, const DiskParts& parts);
uint64_t most_bytes(const DiskUse& use, const DiskParts& parts);

// For the log: "a checkpoint takes 1.2 GiB and the model 418.0 MiB" and so on, with the most
// checkpoints at once, and for each place the need and the free space.
std::string disk_text(const DiskBudget& budget);

// Throws if a file system certainly cannot hold the job: kUsage if it is too small, and kNoSpace if
// it is too full, which may change.
void require_disk(const DiskBudget& budget);

}  // namespace berth
