#include "entrypoint/memory/disk_budget.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

uint64_t checkpoints_bytes(const DiskUse& use, int64_t count) {
  return use.checkpoint_bytes * static_cast<uint64_t>(count);
}

uint64_t of_seeds(const DiskUse& use, uint64_t of_one) {
  return of_one * static_cast<uint64_t>(use.other_seeds);
}

std::string need_text(const DiskUse& use, const DiskNeed& need) {
  std::string text = cat("; ", need.place, " needs up to ", human_bytes(need.most_bytes));
  const std::optional<Volume>& volume = need.volume;
  if (!volume || volume->size_bytes == 0) return text;
  text += cat(", and ", human_bytes(volume->free_bytes), " are free there");
  const bool is_tight = volume->free_bytes + need.own_bytes < need.most_bytes;
  return text + (is_tight && use.gives_up ? ", so older checkpoints will make room" : "");
}

}  // namespace

uint64_t least_bytes(const DiskUse& use, const DiskParts& parts) {
  const uint64_t model = parts.model ? use.model_bytes : 0;
  const uint64_t teacher = parts.teacher ? use.teacher_bytes : 0;
  if (!parts.checkpoints) return model + of_seeds(use, model) + teacher;
  const int64_t stay = use.gives_up ? 1 : use.kept_checkpoints;
  const uint64_t finished = checkpoints_bytes(use, stay) + model;
  const uint64_t training = checkpoints_bytes(use, use.least_checkpoints);
  return std::max(training, finished) + of_seeds(use, finished) + teacher + kSmallFilesBytes;
}

uint64_t most_bytes(const DiskUse& use, const DiskParts& parts) {
  const uint64_t model = parts.model ? use.model_bytes : 0;
  const uint64_t teacher = parts.teacher ? use.teacher_bytes : 0;
  if (!parts.checkpoints) return model + of_seeds(use, model) + teacher;
  const uint64_t finished = checkpoints_bytes(use, use.kept_checkpoints) + model;
  const uint64_t training = checkpoints_bytes(use, use.most_checkpoints) + model;
  return std::max(training + of_seeds(use, finished) + teacher, least_bytes(use, parts));
}

std::string disk_text(const DiskBudget& budget) {
  const DiskUse& use = budget.use;
  std::string text =
      cat("a checkpoint takes ", human_bytes(use.checkpoint_bytes), " and the model ",
          human_bytes(use.model_bytes), ", and there are at most ",
          counted(use.most_checkpoints, "checkpoint"), " at once");
  if (use.other_seeds > 0)
    text += cat(" besides the checkpoints of ", counted(use.other_seeds, "other seed"));
  for (const DiskNeed& need : budget.needs) text += need_text(use, need);
  return text;
}

void require_disk(const DiskBudget& budget) {
  for (const DiskNeed& need : budget.needs) {
    const std::optional<Volume>& volume = need.volume;
    if (!volume || !volume->is_certain) continue;
    const std::string least = cat("the job needs at least ", human_bytes(need.least_bytes));
    const std::string fewer =
        budget.use.gives_up
            ? ""
            : "; leave --save-total-limit 0 out, and older checkpoints make room for newer ones";
    if (need.least_bytes > volume->size_bytes) {
      throw Error(Code::kUsage,
                  cat(least, ", and the file system holds ", human_bytes(volume->size_bytes)),
                  need.place, "give it a larger volume or another place" + fewer);
    }
    if (need.least_bytes > volume->free_bytes + need.own_bytes) {
      throw Error(Code::kNoSpace,
                  cat(least, ", and ", human_bytes(volume->free_bytes), " are free"), need.place,
                  "free some space or name another disk" + fewer);
    }
  }
}

}  // namespace berth
