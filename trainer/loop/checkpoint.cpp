#include "trainer/loop/checkpoint.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"
#include "storage/formats/safetensors.h"
#include "storage/whole_file.h"
#include "trainer/loop/checkpoint_folder.h"

namespace berth {
namespace {

constexpr double kPatience = 0.01;           // of the time since the last save
constexpr int64_t kPart = int64_t{1} << 20;  // elements that are read, or travel, at once
constexpr size_t kPartBytes = kPart * sizeof(float);

bool is_state(const ManifestEntry& entry) {
  return entry.name == kStateFile || entry.name == kNextStateFile;
}

// The name of the state that the manifest lists.
const char* state_name(std::span<const ManifestEntry> entries) {
  const auto found = std::ranges::find_if(entries, is_state);
  return found != entries.end() && found->name == kNextStateFile ? kNextStateFile : kStateFile;
}

// Tensors that a file of a checkpoint has: all parameters, or only the ones that train. The name of
// a tensor in the file is `prefix` and the parameter's name.
struct Restored {
  std::string_view prefix;
  Saved which;
  ParameterTensors& to;
};

// Where a tensor of a file goes.
struct Destination {
  ParameterTensors* to = nullptr;
  size_t parameter = 0;
};

// Throws kIncompatible unless the file has all of these tensors, in fp32.
std::map<std::string_view, Destination> destinations(std::span<const NamedTensor> file,
                                                     std::span<const Restored> wanted) {
  std::map<std::string_view, const NamedTensor*> found;
  for (const NamedTensor& tensor : file) found[tensor.name] = &tensor;
  std::map<std::string_view, Destination> places;
  for (const Restored& part : wanted) {
    for (const SavedTensor& tensor : saved_tensors(part.to, part.prefix, part.which)) {
      const auto place = found.find(tensor.name);
      if (place == found.end() || place->second->shape != tensor.spec().shape ||
          place->second->dtype != DType::kF32) {
        throw Error(Code::kIncompatible, "the checkpoint's tensors are not this model's",
                    tensor.name, "use another --job-dir for another model");
      }
      places[place->first] = {&part.to, tensor.parameter};
    }
  }
  return places;
}

// Copies tensors out of a file of `file_size` bytes, of which only a part is in memory at a time.
void read_tensors(ByteSource& source, uint64_t file_size, std::span<const Restored> wanted) {
  const std::vector<NamedTensor> file = read_safetensors_header(source, file_size);
  const std::map<std::string_view, Destination> places = destinations(file, wanted);
  std::vector<std::byte> buffer(kPartBytes);
  for (const NamedTensor& tensor : file) {
    const auto place = places.find(tensor.name);
    const auto size_bytes = static_cast<uint64_t>(tensor.elements()) * size_of(tensor.dtype);
    for (uint64_t done = 0; done < size_bytes; done += buffer.size()) {
      const auto part = std::span(buffer).first(
          static_cast<size_t>(std::min<uint64_t>(buffer.size(), size_bytes - done)));
      if (read_fully(source, part) < part.size()) throw Error(Code::kCorrupt, "ends early");
      if (place == places.end()) continue;
      place->second.to->write(place->second.parameter, static_cast<int64_t>(done / sizeof(float)),
                              part);
    }
  }
}

// The files of a checkpoint, read as streams. Its functions throw kCorrupt or kNotFound if a file
// is not what the manifest says. Tensors may hold a part of it then.
class CheckpointFiles {
 public:
  CheckpointFiles(Storage& storage, Uri directory)
      : storage_(storage), directory_(std::move(directory)) {
    const std::optional<std::string> manifest = read_text(storage, directory_ / kManifestFile);
    if (!manifest) throw Error(Code::kNotFound, "no " + std::string(kManifestFile));
    entries_ = parse_manifest(*manifest);
  }

  // `step` is what the directory's name says. Throws kCorrupt if the state is of another one.
  TrainingState restore(Engine& engine, int64_t step,
                        const CheckpointStore::FitsState& fits) const {
    const std::string text = read_text(storage_, directory_ / state_name(entries_)).value_or("");
    Checksum checksum;
    checksum.add(as_bytes(text));
    require(state_name(entries_), checksum);
    const TrainingState state = parse_training_state(text);
    if (fits && !fits(state)) {
      throw Error(Code::kCorrupt, "its position is outside of the data", kStateFile);
    }
    if (state.step != step) {
      throw Error(Code::kCorrupt, cat("was renamed: it is the state after update ", state.step),
                  kStateFile);
    }
    restore_parameters(engine.tensors(StateTensors::kValues));
    const Restored moments[] = {
        {kFirstMoment, Saved::kTraining, engine.tensors(StateTensors::kFirstMoments)},
        {kSecondMoment, Saved::kTraining, engine.tensors(StateTensors::kSecondMoments)}};
    restore_file(kMomentsFile, moments);
    engine.tensors_written();
    return state;
  }

  // Whether a process was killed while it replaced the state.
  bool is_being_replaced() const { return state_name(entries_) == kNextStateFile; }

  void restore_parameters(ParameterTensors& values) const {
    const Restored all[] = {{"", Saved::kAll, values}};
    restore_file(kParametersFile, all);
  }

 private:
  const Checksum& checksum_of(std::string_view name) const {
    const auto entry = std::ranges::find(entries_, name, &ManifestEntry::name);
    if (entry == entries_.end()) {
      throw Error(Code::kCorrupt, "not in the manifest", std::string(name));
    }
    return entry->checksum;
  }
  void require(const char* name, const Checksum& checksum) const {
    if (checksum == checksum_of(name)) return;
    throw Error(Code::kCorrupt, "its size or CRC-32C differs from the manifest", name);
  }

  void restore_file(const char* name, std::span<const Restored> wanted) const {
    const uint64_t file_size = checksum_of(name).size;
    Checksum checksum;
    auto source = std::make_unique<ChecksumSource>(storage_.open(directory_ / name), checksum);
    std::exception_ptr failure;
    try {
      read_tensors(*source, file_size, wanted);
    } catch (const Error& error) {
      // A damaged header may look like one of another model, so the checksum decides.
      const Code code = error.code();
      const bool is_about_bytes =
          code == Code::kCorrupt || code == Code::kBadData || code == Code::kIncompatible;
      if (!is_about_bytes) throw;
      failure = std::current_exception();
    }
    std::vector<std::byte> rest(kPartBytes);
    while (source->read(rest) > 0) {
    }
    require(name, checksum);
    if (failure) std::rethrow_exception(failure);
    source.reset();
    return_freed_memory();  // what the storage has held
  }

  Storage& storage_;
  const Uri directory_;
  std::vector<ManifestEntry> entries_;
};

bool is_unreadable(const Error& error) { return error.code() == Code::kUnavailable; }

bool is_lost(const Error& error) {
  return error.code() == Code::kCorrupt || error.code() == Code::kNotFound;
}

// Whether another checkpoint takes the place of this one. A bad sector of a disk does not heal, but
// a bucket may be out of reach for a while.
bool is_damage(const Error& error, const Uri& directory) {
  return is_lost(error) || (is_unreadable(error) && directory.is_local());
}

}  // namespace

CheckpointStore::CheckpointStore(Storage& storage, Uri directory, int64_t limit, Saving saving,
                                 uint64_t most_copied, Communicator* ranks)
    : CheckpointStore(storage, {.directory = std::move(directory)}, limit, saving, most_copied,
                      ranks) {}

CheckpointStore::CheckpointStore(Storage& storage, const RoomOptions& room, int64_t limit,
                                 Saving saving, uint64_t most_copied, Communicator* ranks)
    : storage_(storage),
      directory_(room.directory),
      room_(storage, room),
      limit_(limit),
      saving_(saving),
      most_copied_(most_copied),
      ranks_(ranks) {}

CheckpointStore::~CheckpointStore() {
  background_.wait();  // throws nothing, because save's failures are outcomes
  take_outcome();
}

Uri CheckpointStore::step_directory(int64_t step) const {
  return berth::step_directory(directory_, step);
}

void CheckpointStore::start_save(const TrainingState& state, Engine& engine) {
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double> interval = start - std::exchange(last_start_, start);
  snapshot_.begin(state, engine,
                  {.patience_s = kPatience * interval.count(), .most_bytes = most_copied_});
  engine_ = &engine;
  engine.call_before_change([this] { snapshot_.before_change(); });
  outcome_.emplace();
  outcome_->report = {.step = state.step, .where = step_directory(state.step).to_string()};
  background_.submit([this, start] {
    try {
      save();
    } catch (...) {
      outcome_->failure = std::current_exception();
    }
    snapshot_.end();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    outcome_->report.seconds = elapsed.count();
  });
  if (saving_ == Saving::kWhileTrainingWaits) background_.wait();
}

std::optional<SaveOutcome> CheckpointStore::poll(double wait_s) {
  if (!background_.idle(wait_s)) return std::nullopt;
  return take_outcome();
}

std::optional<SaveOutcome> CheckpointStore::take_outcome() {
  if (engine_ != nullptr) std::exchange(engine_, nullptr)->call_before_change(nullptr);
  return std::exchange(outcome_, std::nullopt);
}

std::optional<SaveOutcome> CheckpointStore::wait() {
  background_.wait();
  return poll();
}

void CheckpointStore::save() {
  const TrainingState& state = snapshot_.state();
  remove_checkpoint(storage_, directory_, state.step);  // of an earlier attempt
  try {
    write_files(state);
  } catch (const Error& error) {
    // Its files would be in the way of the next attempt.
    if (error.code() == Code::kNoSpace) remove_step(state.step);
    throw;
  }
  finish_save(state);
}

void CheckpointStore::write_files(const TrainingState& state) {
  const Uri directory = step_directory(state.step);
  std::vector<ManifestEntry> entries;
  // `left_bytes` is the size of this file and of the files after it.
  const auto write = [&](const char* name, uint64_t about_bytes, uint64_t left_bytes,
                         const std::function<void(ByteSink&)>& fill) {
    Checksum checksum;
    room_.write(directory, left_bytes, state.step, [&] {
      store_object(storage_, directory / name,
                   [&](ByteSink& sink) {
                     checksum = {};
                     ChecksumSink counted(sink, checksum);
                     fill(counted);
                   },
                   {.if_generation = {}, .size_hint = about_bytes, .is_read_soon = false});
    });
    entries.push_back({.name = name, .checksum = checksum});
    outcome_->report.size_bytes += checksum.size;
  };
  const uint64_t parameters = snapshot_.parameter_bytes(), moments = snapshot_.moment_bytes();
  write(kParametersFile, parameters, parameters + moments,
        [&](ByteSink& sink) { snapshot_.write_parameters(sink); });
  write(kMomentsFile, moments, moments, [&](ByteSink& sink) { snapshot_.write_moments(sink); });
  write(kStateFile, 0, 0, [&](ByteSink& sink) { sink.write(as_bytes(to_json(state))); });
  room_.write(directory, 0, state.step,
              [&] { write_text(storage_, directory / kManifestFile, manifest_json(entries)); });
}

bool CheckpointStore::save_state(const TrainingState& state) {
  const auto start = std::chrono::steady_clock::now();
  const Uri directory = step_directory(state.step);
  std::vector<ManifestEntry> entries;
  try {
    const std::optional<std::string> manifest = read_text(storage_, directory / kManifestFile);
    if (!manifest) return false;
    entries = parse_manifest(*manifest);
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt) throw;
    return false;
  }
  // A replacement that failed half-way may have left a manifest that names state.next.json.
  std::vector<const char*> names = {kNextStateFile, kStateFile};
  if (state_name(entries) == names.front()) names.erase(names.begin());
  std::erase_if(entries, is_state);
  outcome_.emplace();
  outcome_->report = {.step = state.step, .where = directory.to_string()};
  try {
    const std::string text = to_json(state);
    Checksum checksum;
    checksum.add(as_bytes(text));
    // A manifest replaces the one before it at once, and the file that it names is there already.
    // So a file that a manifest names must not be written again.
    entries.push_back({.name = "", .checksum = checksum});
    for (const char* name : names) {
      write_text(storage_, directory / name, text);
      entries.back().name = name;
      write_text(storage_, directory / kManifestFile, manifest_json(entries));
    }
    storage_.remove(directory / kNextStateFile);
    for (const ManifestEntry& entry : entries) outcome_->report.size_bytes += entry.checksum.size;
    finish_save(state);
  } catch (...) {
    outcome_->failure = std::current_exception();
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  outcome_->report.seconds = elapsed.count();
  return true;
}

// A failure is only a warning, because the checkpoint is complete as it is.
void CheckpointStore::finish_replacement(const TrainingState& state) {
  save_state(state);
  const std::optional<SaveOutcome> outcome = take_outcome();
  if (!outcome || !outcome->failure) return;
  try {
    std::rethrow_exception(outcome->failure);
  } catch (const Error& error) {
    log_warning(cat("the state of ", outcome->report.where, " keeps the name ", kNextStateFile,
                    ": ", error.what()));
  }
}

void CheckpointStore::finish_save(const TrainingState& state) {
  if (state.best && state.best->step == state.step) {
    room_.write(directory_, 0, state.step, [&] { record_best(*state.best); });
  }
  prune(state);
}

// Removes what start_save() says. An incomplete checkpoint does not count and is always removed, so
// a failed save never costs an older checkpoint. Steps newer than this one belong to another run
// and stay.
void CheckpointStore::prune(const TrainingState& state) try {
  constexpr size_t kFewest = 2;
  std::vector<int64_t> complete;
  for (const auto& [step, found] : find_checkpoints(storage_, directory_)) {
    if (step > state.step) continue;
    if (found.is_complete) {
      complete.push_back(step);
    } else {
      remove_step(step);
    }
  }
  const auto is_best = [&](int64_t step) { return state.best && state.best->step == step; };
  const auto surplus = limit_ == 0 ? 0 : static_cast<int64_t>(complete.size()) - limit_;
  for (int64_t i = 0; i < surplus; ++i) {
    const int64_t step = complete[static_cast<size_t>(i)];
    if (!is_best(step)) remove_step(step);
  }
  if (surplus > 0) complete.erase(complete.begin(), complete.begin() + surplus);
  const bool has_replaced =
      state.replaces && std::ranges::find(complete, *state.replaces) != complete.end();
  if (has_replaced && complete.size() > kFewest && !is_best(*state.replaces)) {
    remove_step(*state.replaces);
  }
} catch (const Error& error) {
  log_warning(cat("old checkpoints were not removed: ", error.what()));
}

void CheckpointStore::remove_step(int64_t step) {
  try {
    remove_checkpoint(storage_, directory_, step);
  } catch (const Error& error) {
    log_warning(cat("checkpoint of step ", step, " was not removed: ", error.what()));
  }
}

std::optional<TrainingState> CheckpointStore::restore(Engine& engine, const FitsState& fits) {
  std::optional<TrainingState> state;
  bool is_dirty = false;
  if (leads()) state = restore_newest(engine, fits, is_dirty);
  if (ranks_ != nullptr) {
    state = share_state(*ranks_, engine, state);
    is_dirty = is_so_on_rank_0(*ranks_, is_dirty);
  }
  if (!state && is_dirty) {
    engine.tensors_written();
    engine.clear_moments();
  }
  return state;
}

std::optional<TrainingState> CheckpointStore::restore_newest(Engine& engine, const FitsState& fits,
                                                             bool& is_dirty) {
  constexpr int kMostWarnings = 3;
  remove_unfinished_checkpoints(directory_);
  const std::map<int64_t, FoundCheckpoint> found = find_checkpoints(storage_, directory_);
  std::optional<TrainingState> state;
  std::optional<Error> unreadable;
  int passed_over = 0;
  for (auto step = found.rbegin(); step != found.rend() && !state; ++step) {
    const Uri directory = step_directory(step->first);
    try {
      const CheckpointFiles checkpoint(storage_, directory);
      state = checkpoint.restore(engine, step->first, fits);
      is_being_replaced_ = checkpoint.is_being_replaced();
    } catch (const Error& error) {
      if (!is_damage(error, directory)) throw error.at(directory.to_string());
      if (is_unreadable(error) && !unreadable) unreadable = error.at(directory.to_string());
      is_dirty = true;
      if (++passed_over > kMostWarnings) continue;
      log_warning(cat("passing over the incomplete checkpoint ", directory.to_string(), ": ",
                      error.what()));
    }
  }
  if (passed_over > kMostWarnings) {
    log_warning(cat("passing over ", passed_over - kMostWarnings, " more incomplete checkpoints"));
  }
  if (!state && unreadable) throw Error(*unreadable);  // a new start may read them
  return state;
}

void CheckpointStore::finish_restore(const TrainingState& state) {
  if (!leads()) return;
  if (std::exchange(is_being_replaced_, false)) finish_replacement(state);
  if (!state.replaces) return;
  if (find_checkpoints(storage_, directory_).contains(*state.replaces)) prune(state);
}

void CheckpointStore::restore_parameters(int64_t step, ParameterTensors& values) {
  try {
    CheckpointFiles(storage_, step_directory(step)).restore_parameters(values);
  } catch (const Error& error) {
    const Error placed = error.at(step_directory(step).to_string());
    if (!error.hint().empty()) throw placed;
    throw Error(placed.code(), placed.problem(), placed.where(),
                "--mode export_only with --export-dir writes the model of another checkpoint");
  }
}

int64_t CheckpointStore::restore_best(int64_t best, int64_t newest, ParameterTensors& values) {
  int64_t loaded = leads() ? restore_intact(best, newest, values) : 0;
  if (ranks_ == nullptr) return loaded;
  ranks_->broadcast(std::as_writable_bytes(std::span(&loaded, 1)));
  share_tensors(*ranks_, values);
  return loaded;
}

int64_t CheckpointStore::restore_intact(int64_t best, int64_t newest, ParameterTensors& values) {
  std::vector<int64_t> steps;
  for (const auto& [step, found] : find_checkpoints(storage_, directory_)) {
    if (found.is_complete && step <= newest && step != best) steps.push_back(step);
  }
  std::optional<Error> damage;
  for (steps.push_back(best); !steps.empty(); steps.pop_back()) {
    const Uri directory = step_directory(steps.back());
    try {
      CheckpointFiles(storage_, directory).restore_parameters(values);
    } catch (const Error& error) {
      // An error of reading may pass, and then the best one is taken.
      if (!is_lost(error)) throw error.at(directory.to_string());
      if (!damage) damage = error.at(directory.to_string());
      continue;
    }
    if (damage) {
      log_warning(cat("the best checkpoint is damaged: ", damage->what(), ". The model is step ",
                      steps.back(), "'s, which is not the best one"));
    }
    return steps.back();
  }
  throw Error(*damage);
}

std::optional<int64_t> CheckpointStore::preferred_step() {
  std::map<int64_t, FoundCheckpoint> complete = find_checkpoints(storage_, directory_);
  std::erase_if(complete, [](const auto& step) { return !step.second.is_complete; });
  if (complete.empty()) return std::nullopt;
  const std::optional<std::string> best = read_text(storage_, directory_ / kBestFile);
  if (best) {
    try {
      const int64_t step = parse_best(*best).step;
      if (complete.contains(step)) return step;
    } catch (const Error& error) {
      throw error.at((directory_ / kBestFile).to_string());
    }
  }
  return complete.rbegin()->first;
}

void CheckpointStore::record_best(const Best& best) {
  if (leads()) write_text(storage_, directory_ / kBestFile, to_json(best));
}

namespace {

void share(Communicator& ranks, ParameterTensors& tensors, bool only_trained) {
  std::vector<float> part;
  for (size_t i = 0; i < tensors.specs().size(); ++i) {
    const ParameterSpec& spec = tensors.specs()[i];
    if (only_trained && !spec.trains) continue;
    for (int64_t first = 0; first < spec.elements(); first += kPart) {
      part.resize(static_cast<size_t>(std::min(kPart, spec.elements() - first)));
      if (ranks.rank() == 0) tensors.read(i, first, part);
      ranks.broadcast(std::as_writable_bytes(std::span(part)));
      if (ranks.rank() != 0) tensors.write(i, first, std::as_bytes(std::span(part)));
    }
  }
}

}  // namespace

void share_tensors(Communicator& ranks, ParameterTensors& tensors) {
  share(ranks, tensors, /*only_trained=*/false);
}

std::optional<TrainingState> share_state(Communicator& ranks, Engine& engine,
                                         const std::optional<TrainingState>& state) {
  const std::string own = state ? to_json(*state) : "";
  const std::vector<std::byte> json = broadcast_bytes(ranks, as_bytes(own));
  if (json.empty()) return std::nullopt;
  share(ranks, engine.tensors(StateTensors::kValues), /*only_trained=*/false);
  if (!engine.shards_moments()) {
    share(ranks, engine.tensors(StateTensors::kFirstMoments), /*only_trained=*/true);
    share(ranks, engine.tensors(StateTensors::kSecondMoments), /*only_trained=*/true);
  }
  if (ranks.rank() == 0) return state;
  engine.tensors_written();
  return parse_training_state(as_text(json));
}

std::optional<Best> share_best(Communicator& ranks, const std::optional<Best>& best) {
  const std::string own = best ? to_json(TrainingState{.best = best}) : "";
  const std::vector<std::byte> json = broadcast_bytes(ranks, as_bytes(own));
  return json.empty() ? std::nullopt : parse_training_state(as_text(json)).best;
}

}  // namespace berth
