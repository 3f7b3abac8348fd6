#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/storage.h"
#include "storage/volume.h"

namespace berth {

struct RoomOptions {
  Uri directory{};  // of the job's checkpoints
  // For the checkpoints of finished jobs that belong to this one: the seeds before it.
  std::vector<Uri> finished{};
  bool gives_up = true;  // false: every checkpoint stays
  // Whether the best checkpoint becomes the model. Then the job needs the best checkpoint;
  // otherwise it needs the newest one.
  bool needs_best = false;
  // The space that should stay free for small files: event files, the report and the metrics.
  uint64_t small_files_bytes = uint64_t{1} << 20;
  std::function<std::optional<Volume>(const Uri&)> volume = volume_of;  // a test has its own
};

// Makes room on a full disk for a job's output, by removing checkpoints.
//
// One complete checkpoint always stays in each directory: the one from which the job can go on.
// Incomplete checkpoints go first, then the oldest, and the best one last. No checkpoint is removed
// if that cannot help: the output lies on another file system, or is larger than all removable
// checkpoints. Checkpoints after the current step are damaged or another run's, and stay.
class CheckpointRoom {
 public:
  CheckpointRoom(Storage& storage, RoomOptions options)
      : storage_(storage), options_(std::move(options)) {}

  // Calls `write`, which is about to write `size_bytes` to `place` while the job stands at `step`.
  // Makes room beforehand, if the file system reports the free space. While `write` throws
  // kNoSpace, removes another checkpoint and calls it again. Throws that error, with a hint, if no
  // removable checkpoint is left.
  void write(const Uri& place, uint64_t size_bytes, int64_t step,
             const std::function<void()>& write);

 private:
  struct Candidate {
    Uri directory;
    int64_t step = 0;
    uint64_t size_bytes = 0;
  };
  static uint64_t size_of(const std::vector<Candidate>& candidates);

  std::vector<Candidate> candidates(const Uri& place, int64_t step);
  void add_candidates(const Uri& directory, int64_t step, std::vector<Candidate>& candidates);
  std::optional<int64_t> best_step(const Uri& directory);
  void make_room(const Uri& place, uint64_t size_bytes, int64_t step);
  bool give_up_one(const Uri& place, uint64_t size_bytes, int64_t step);
  void give_up(const Candidate& candidate, const Uri& place);
  bool is_beside(const Uri& place, const Uri& directory) const;
  Error with_hint(const Error& error, const Uri& place) const;

  Storage& storage_;
  const RoomOptions options_;
  bool has_said_ = false;  // whether it has warned that checkpoints are removed
};

}  // namespace berth
