#include "trainer/loop/checkpoint_room.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/loop/checkpoint_files.h"
#include "trainer/loop/checkpoint_folder.h"

namespace berth {

uint64_t CheckpointRoom::size_of(const std::vector<Candidate>& candidates) {
  uint64_t total = 0;
  for (const Candidate& candidate : candidates) total += candidate.size_bytes;
  return total;
}

void CheckpointRoom::write(const Uri& place, uint64_t size_bytes, int64_t step,
                           const std::function<void()>& write) {
  make_room(place, size_bytes, step);
  while (true) {
    try {
      return write();
    } catch (const Error& error) {
      if (error.code() != Code::kNoSpace) throw;
      if (!give_up_one(place, size_bytes, step)) throw with_hint(error, place);
    }
  }
}

bool CheckpointRoom::is_beside(const Uri& place, const Uri& directory) const {
  const std::optional<Volume> one = options_.volume(place), other = options_.volume(directory);
  return one && other && one->id == other->id;
}

// The step that best.json names; nullopt: there is none, or the file cannot be read.
std::optional<int64_t> CheckpointRoom::best_step(const Uri& directory) {
  try {
    const std::optional<std::string> best = read_text(storage_, directory / kBestFile);
    if (best) return parse_best(*best).step;
  } catch (const Error& error) {
    log_debug(cat(kBestFile, " cannot be read: ", error.what()));
  }
  return std::nullopt;
}

void CheckpointRoom::add_candidates(const Uri& directory, int64_t step,
                                    std::vector<Candidate>& candidates) {
  std::vector<Candidate> incomplete, complete;
  for (const auto& [at, found] : find_checkpoints(storage_, directory)) {
    if (at > step || (at == step && !found.is_complete)) continue;
    (found.is_complete ? complete : incomplete).push_back({directory, at, found.size_bytes});
  }
  candidates.insert(candidates.end(), incomplete.begin(), incomplete.end());
  if (complete.empty()) return;
  const std::optional<int64_t> best = best_step(directory);
  const auto is_best = [&](const Candidate& candidate) { return candidate.step == best; };
  const bool needs_best = options_.needs_best && std::ranges::any_of(complete, is_best);
  const int64_t stays = needs_best ? *best : complete.back().step;
  std::erase_if(complete, [&](const Candidate& candidate) { return candidate.step == stays; });
  std::stable_partition(complete.begin(), complete.end(), std::not_fn(is_best));
  candidates.insert(candidates.end(), complete.begin(), complete.end());
}

// The checkpoints that may be removed for `place`, in the order of removal.
std::vector<CheckpointRoom::Candidate> CheckpointRoom::candidates(const Uri& place, int64_t step) {
  std::vector<Candidate> candidates;
  if (!options_.gives_up) return candidates;
  for (const Uri& directory : options_.finished) {
    if (is_beside(place, directory)) add_candidates(directory, INT64_MAX, candidates);
  }
  if (is_beside(place, options_.directory)) add_candidates(options_.directory, step, candidates);
  return candidates;
}

// Does nothing if the file system does not report the free space reliably, or if removing
// everything that may go would not suffice.
void CheckpointRoom::make_room(const Uri& place, uint64_t size_bytes, int64_t step) {
  const std::optional<Volume> volume = options_.volume(place);
  if (!volume || !volume->is_certain) return;
  uint64_t free_bytes = volume->free_bytes;
  if (free_bytes >= size_bytes + options_.small_files_bytes) return;
  const std::vector<Candidate> all = candidates(place, step);
  const uint64_t most = free_bytes + size_of(all);
  if (most < size_bytes) return;
  const uint64_t wanted = std::min(most, size_bytes + options_.small_files_bytes);
  for (auto next = all.begin(); next != all.end() && free_bytes < wanted; ++next) {
    give_up(*next, place);
    free_bytes += next->size_bytes;
  }
}

// Returns false if removing checkpoints cannot help. A disk quota may be used up while the file
// system has space.
bool CheckpointRoom::give_up_one(const Uri& place, uint64_t size_bytes, int64_t step) {
  if (size_bytes > largest_file_bytes()) return false;
  const std::vector<Candidate> all = candidates(place, step);
  if (all.empty()) return false;
  const std::optional<Volume> volume = options_.volume(place);
  if (volume && volume->is_certain && volume->free_bytes + size_of(all) < size_bytes) return false;
  give_up(all.front(), place);
  return true;
}

void CheckpointRoom::give_up(const Candidate& candidate, const Uri& place) {
  const std::string what =
      cat("the disk is full: ", step_directory(candidate.directory, candidate.step).to_string(),
          " is removed to make room for ", place.to_string());
  if (std::exchange(has_said_, true)) {
    log_info(what);
  } else {
    log_warning(what);
  }
  remove_checkpoint(storage_, candidate.directory, candidate.step);
}

Error CheckpointRoom::with_hint(const Error& error, const Uri& place) const {
  if (!is_beside(place, options_.directory)) return error;
  const char* const limit =
      options_.gives_up
          ? "no older checkpoint is left to give up, and --save-total-limit 1 keeps the fewest"
          : "leave --save-total-limit 0 out, and older checkpoints make room";
  return Error(error.code(), error.problem(), error.where(),
               cat(error.hint(), error.hint().empty() ? "" : "; ", limit));
}

}  // namespace berth
