#include "trainer/loop/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"

namespace berth {
namespace {

constexpr std::string_view kStepPrefix = "step-";

// The step of a folder's name; nullopt: it is no checkpoint's.
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const std::string digits(name.substr(kStepPrefix.size()));
  if (digits.size() > 18 || !is_digits(digits)) return std::nullopt;
  return std::stoll(digits);
}

// Which files of a checkpoint are there.
struct Files {
  bool has_manifest = false, has_parameters = false, has_moments = false, has_state = false;
  uint64_t size_bytes = 0;

  void add(std::string_view name, uint64_t size) {
    has_manifest = has_manifest || name == kManifestFile;
    has_parameters = has_parameters || name == kParametersFile;
    has_moments = has_moments || name == kMomentsFile;
    has_state = has_state || name == kStateFile || name == kNextStateFile;
    size_bytes += size;
  }
  bool are_complete() const { return has_manifest && has_parameters && has_moments && has_state; }
};

}  // namespace

Uri step_directory(const Uri& directory, int64_t step) {
  return directory / formatted("step-%08lld", static_cast<long long>(step));
}

std::map<int64_t, FoundCheckpoint> find_checkpoints(Storage& storage, const Uri& directory) {
  std::map<int64_t, Files> files;
  const std::string prefix = (directory / kStepPrefix).to_string();
  const size_t name_begin = prefix.size() - kStepPrefix.size();
  for (const Stat& stat : storage.list(directory)) {
    if (!stat.name.starts_with(prefix)) continue;
    const size_t end = std::min(stat.name.find('/', name_begin), stat.name.size());
    const auto step = step_of(std::string_view(stat.name).substr(name_begin, end - name_begin));
    if (!step) continue;
    const std::string_view file =
        std::string_view(stat.name).substr(std::min(end + 1, stat.name.size()));
    files[*step].add(file, stat.size);
  }
  std::map<int64_t, FoundCheckpoint> found;
  for (const auto& [step, of_step] : files) {
    found[step] = {.is_complete = of_step.are_complete(), .size_bytes = of_step.size_bytes};
  }
  return found;
}

void remove_checkpoint(Storage& storage, const Uri& directory, int64_t step) {
  const Uri folder = step_directory(directory, step);
  storage.remove(folder / kManifestFile);
  for (const Stat& stat : storage.list(folder)) storage.remove(Uri::parse(stat.name));
  if (folder.is_local()) remove_unfinished(folder.path());
  storage.remove(Uri::parse(folder.to_string() + "/"));
}

void remove_unfinished_checkpoints(const Uri& directory) {
  if (!directory.is_local()) return;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory.path(), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!step_of(entry->path().filename().string())) continue;
    remove_unfinished(entry->path().string());
    std::error_code not_empty;
    std::filesystem::remove(entry->path(), not_empty);  // a folder that is empty now
  }
}

namespace {

// Runs `read` and converts the JSON library's exceptions to Errors.
template <typename Read>
auto parsing(std::string_view json, const Read& read) {
  const OrderedJson value = parse_ordered_json(json);
  if (value.is_discarded()) throw Error(Code::kCorrupt, "is not JSON");
  try {
    return read(value);
  } catch (const OrderedJson::exception& error) {
    throw Error(Code::kCorrupt, error.what());
  }
}

// A whole number. The library would also take a fraction, or wrap a number that is too large.
int64_t whole(const OrderedJson& value) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
  if (!fits) throw Error(Code::kCorrupt, "a count that is no whole number");
  return value.get<int64_t>();
}

OrderedJson cursor_object(const DataCursor& cursor) {
  return {{"epoch", cursor.epoch}, {"block", cursor.block}, {"index", cursor.index}};
}

DataCursor cursor_of(const OrderedJson& object) {
  return {.epoch = whole(object.at("epoch")),
          .block = whole(object.at("block")),
          .index = whole(object.at("index"))};
}

OrderedJson best_object(const Best& best) {
  OrderedJson object = {{"step", best.step}, {"metric", best.metric}, {"value", best.value}};
  if (best.improved_step != best.step) object["improved_step"] = best.improved_step;
  return object;
}

Best best_of(const OrderedJson& object) {
  const int64_t step = whole(object.at("step"));
  return {.step = step,
          .metric = object.at("metric"),
          .value = object.at("value"),
          .improved_step = whole(object.value("improved_step", OrderedJson(step)))};
}

OrderedJson probe_object(const ProbeReport& probe) {
  return {{"step", probe.step},       {"name", probe.name}, {"metric", probe.metric},
          {"metrics", probe.metrics}, {"loss", probe.loss}, {"examples", probe.examples},
          {"seconds", probe.seconds}};
}

ProbeReport probe_of(const OrderedJson& object) {
  ProbeReport probe{.step = whole(object.at("step")),
                    .name = object.at("name"),
                    .metric = object.at("metric"),
                    .metrics = object.at("metrics").get<std::map<std::string, double>>(),
                    .loss = object.at("loss"),
                    .examples = whole(object.at("examples")),
                    .seconds = object.at("seconds")};
  if (!probe.metrics.contains(probe.metric)) throw Error(Code::kCorrupt, "a probe without a score");
  return probe;
}

}  // namespace

std::string to_json(const TrainingState& state) {
  OrderedJson object = {{"format", kFileFormat},
                        {"step", state.step},
                        {"cursor", cursor_object(state.cursor)},
                        {"examples", state.examples},
                        {"tokens", state.tokens},
                        {"loss_sum", state.loss_sum},
                        {"loss_weight", state.loss_weight},
                        {"evaluated_step", state.evaluated_step},
                        {"best", nullptr},
                        {"kernels", state.kernels},
                        {"job", state.job}};
  if (state.best) object["best"] = best_object(*state.best);
  if (state.is_interim) object["is_interim"] = true;
  if (state.replaces) object["replaces"] = *state.replaces;
  if (state.probed_step >= 0) object["probed_step"] = state.probed_step;
  for (const ProbeReport& probe : state.probes) object["probes"].push_back(probe_object(probe));
  for (const SkippedData& skipped : state.skipped) {
    object["skipped"].push_back(
        {{"from", cursor_object(skipped.from)}, {"to", cursor_object(skipped.to)}});
  }
  return to_text(object, 2) + "\n";
}

TrainingState parse_training_state(std::string_view json) {
  return parsing(json, [](const OrderedJson& object) {
    require_known_format(object);
    TrainingState state{
        .step = whole(object.at("step")),
        .cursor = cursor_of(object.at("cursor")),
        .examples = whole(object.at("examples")),
        .tokens = whole(object.at("tokens")),
        .loss_sum = object.at("loss_sum"),
        .loss_weight = object.at(object.contains("loss_weight") ? "loss_weight" : "examples"),
        .evaluated_step = whole(object.at("evaluated_step")),
        .probed_step = whole(object.value("probed_step", OrderedJson(-1))),
        .is_interim = object.value("is_interim", false),
        .kernels = object.at("kernels"),
        .job = object.value("job", "")};
    if (object.contains("replaces")) state.replaces = whole(object.at("replaces"));
    if (object.contains("probes")) {
      for (const OrderedJson& probe : object.at("probes")) state.probes.push_back(probe_of(probe));
    }
    if (object.contains("skipped")) {
      for (const OrderedJson& skipped : object.at("skipped")) {
        state.skipped.push_back(
            {.from = cursor_of(skipped.at("from")), .to = cursor_of(skipped.at("to"))});
      }
    }
    if (const OrderedJson& best = object.at("best"); !best.is_null()) {
      state.best = best_of(best);
    }
    return state;
  });
}

std::string manifest_json(std::span<const ManifestEntry> entries) {
  OrderedJson files = OrderedJson::array();
  for (const ManifestEntry& entry : entries) {
    files.push_back({{"name", entry.name},
                     {"size", entry.checksum.size},
                     {"crc32c", crc_text(entry.checksum.crc)}});
  }
  return to_text(OrderedJson{{"files", files}}, 2) + "\n";
}

std::vector<ManifestEntry> parse_manifest(std::string_view json) {
  return parsing(json, [](const OrderedJson& object) {
    std::vector<ManifestEntry> entries;
    for (const OrderedJson& file : object.at("files")) {
      const std::string crc = file.at("crc32c");
      if (crc.size() != 8 || crc.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw Error(Code::kCorrupt, "a crc32c that is not eight hexadecimal digits");
      }
      entries.push_back({.name = file.at("name"),
                         .checksum = {.size = static_cast<uint64_t>(whole(file.at("size"))),
                                      .crc = static_cast<uint32_t>(std::stoul(crc, nullptr, 16))}});
    }
    return entries;
  });
}

Best parse_best(std::string_view json) { return parsing(json, best_of); }

std::string to_json(const Best& best) { return to_text(best_object(best), 2) + "\n"; }

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

// Returns false if removing checkpoints cannot help. A quota can cause kNoSpace although the file
// system reports free space. So one checkpoint is removed then, too.
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
