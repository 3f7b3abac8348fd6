#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/storage.h"
#include "storage/volume.h"
#include "trainer/loop/training_state.h"

namespace berth {

// The folders and the small JSON files of a job's checkpoints. The tensors are not read here.

// The folder of the checkpoint after `step` updates: DIR/step-00000500.
Uri step_directory(const Uri& directory, int64_t step);

struct FoundCheckpoint {
  bool is_complete = false;  // its four files are there; nobody has compared them with the manifest
  uint64_t size_bytes = 0;
};
// The checkpoints in `directory`, by their steps.
std::map<int64_t, FoundCheckpoint> find_checkpoints(Storage& storage, const Uri& directory);

// Removes a checkpoint, the manifest first: one that is removed in part is never taken for
// complete. What a killed process left in a local folder goes, too. An absent checkpoint is no
// error.
void remove_checkpoint(Storage& storage, const Uri& directory, int64_t step);

// Removes temporary files of checkpoints that killed processes left in a local directory.
// Storage::list does not show these files, and they can be as large as a checkpoint.
void remove_unfinished_checkpoints(const Uri& directory);

// The files of a checkpoint. MANIFEST.json is written last. While a state is replaced, the manifest
// names state.next.json in place of state.json.
inline constexpr const char* kManifestFile = "MANIFEST.json";
inline constexpr const char* kParametersFile = "model.safetensors";
inline constexpr const char* kMomentsFile = "optimizer.safetensors";
inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kNextStateFile = "state.next.json";
// Beside the checkpoints of a job.
inline constexpr const char* kBestFile = "best.json";

// state.json.
std::string to_json(const TrainingState& state);
TrainingState parse_training_state(std::string_view json);  // throws kCorrupt

struct ManifestEntry {
  std::string name;
  Checksum checksum;
};

// MANIFEST.json.
std::string manifest_json(std::span<const ManifestEntry> entries);
std::vector<ManifestEntry> parse_manifest(std::string_view json);  // throws kCorrupt

// best.json.
std::string to_json(const Best& best);
Best parse_best(std::string_view json);  // throws kCorrupt

struct RoomOptions {
  Uri directory{};  // of the job's checkpoints
  // The directories of the earlier seeds of this job (--seeds), which have finished. Their
  // checkpoints may be removed, too.
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
// One complete checkpoint always stays in each directory: the best one if `needs_best` is set, and
// otherwise the newest. Incomplete checkpoints go first, then the oldest, and the best one last. No
// checkpoint is removed if the output lies on another file system. If the free space is known, none
// is removed where free and removable space together are too small. A checkpoint with a later step
// than the current one is damaged or belongs to another run, and is not removed here.
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
