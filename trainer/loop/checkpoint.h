#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "storage/base/thread_pool.h"
#include "storage/storage.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/engine.h"
#include "trainer/loop/checkpoint_folder.h"
#include "trainer/loop/observer.h"
#include "trainer/loop/snapshot.h"
#include "trainer/loop/training_state.h"

namespace berth {

// How a save ended.
struct SaveOutcome {
  CheckpointReport report{};
  std::exception_ptr failure{};  // null: the checkpoint is complete
};

// The checkpoints of a job. A checkpoint is a folder such as DIR/step-00000500 with
// model.safetensors, optimizer.safetensors, state.json and MANIFEST.json. The manifest is written
// last and holds the size and CRC-32C of each file. A checkpoint is complete if its manifest
// matches its files. DIR/best.json names the best checkpoint for people. While a state is replaced,
// the manifest names state.next.json in place of state.json. One thread calls; writing may run on a
// thread of this object.
class CheckpointStore {
 public:
  // Keeps the newest `limit` complete checkpoints and the best one. A limit of 0 keeps all but
  // interim ones (start_save()). The
  // copies of tensors that could not be written in time take at most `most_copied` bytes.
  //
  // With several ranks, only rank 0's directory counts: restore() and restore_best() are
  // collectives that give all ranks its state, and only rank 0 may save. `ranks` may be null.
  CheckpointStore(Storage& storage, Uri directory, int64_t limit,
                  Saving saving = Saving::kBesideTraining, uint64_t most_copied = UINT64_MAX,
                  Communicator* ranks = nullptr);
  // The same with a full disk in mind: saves make room for themselves.
  CheckpointStore(Storage& storage, const RoomOptions& room, int64_t limit, Saving saving,
                  uint64_t most_copied, Communicator* ranks);
  ~CheckpointStore();  // finishes the save in progress
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  bool saves_while_training_waits() const { return saving_ == Saving::kWhileTrainingWaits; }

  // Saves the checkpoint of `state.step`. With kBesideTraining, writes it on a thread of its own;
  // with kWhileTrainingWaits, returns after it is written. Then writes best.json if this checkpoint
  // is the best one. Removes the checkpoints beyond the limit. Also removes the checkpoint that it
  // replaces (TrainingState::replaces), unless that is the best one, or fewer than two others would
  // stay: the newest one may be damaged. A failed removal is only a warning. poll() or wait() must
  // have returned the outcome of the last save.
  //
  // Until poll() or wait() returns the outcome of this one, only updates may change the engine, and
  // it must not be destroyed. The first of them copies the part that is not written yet (Snapshot).
  // While storage is slow, the update waits so that less remains to be copied. It waits at most 1 %
  // of the time since the last save. It waits longer only if the copies would take more than
  // `most_copied` bytes.
  void start_save(const TrainingState& state, Engine& engine);

  // Replaces the state of the checkpoint of `state.step`, whose tensors stay, and then does what
  // start_save() does after writing. The checkpoint is complete at every moment, so that nothing is
  // lost where the process is killed meanwhile. Returns when all is done; poll() returns the
  // outcome. Returns false, and has no outcome, if that checkpoint has no valid manifest.
  bool save_state(const TrainingState& state);

  // Return the outcome of the last save once, and nullopt after that. poll() waits at most `wait_s`
  // seconds and returns nullopt if the save is still running.
  std::optional<SaveOutcome> poll(double wait_s = 0);
  std::optional<SaveOutcome> wait();

  // Loads the newest complete checkpoint into the engine. Passes over incomplete and damaged ones
  // with a warning, and over local ones that cannot be read. Returns nullopt if no other is left:
  // the parameters are not defined then, and the moments are zeros. Throws kUnavailable if one of
  // them could not be read. Only removes temporary files. Reads the files as streams, so that no
  // file is in memory as a whole.
  // `fits` says whether the job can go on from a state; one that does not fit counts as damaged.
  // Throws kIncompatible if the tensors belong to another model.
  using FitsState = std::function<bool(const TrainingState& state)>;
  std::optional<TrainingState> restore(Engine& engine, const FitsState& fits = {});

  // Completes what a killed process began, once the job has accepted the state from restore(): ends
  // a replacement of the state, and removes the checkpoint that the loaded one replaces.
  void finish_restore(const TrainingState& state);

  // Loads only the parameters of the checkpoint of `step`. Throws as restore() does, and kCorrupt
  // or kNotFound if they are damaged. No collective.
  void restore_parameters(int64_t step, ParameterTensors& values);

  // Loads only the parameters of the best checkpoint, of step `best`. If it is damaged, warns and
  // loads the newest one that is not, up to step `newest`. Returns the step of the loaded one.
  // Throws as restore_parameters() does if all are damaged.
  int64_t restore_best(int64_t best, int64_t newest, ParameterTensors& values);

  // The step that best.json names if its checkpoint exists, and otherwise the step of the newest
  // checkpoint. nullopt if there is no checkpoint.
  std::optional<int64_t> preferred_step();

  // Writes best.json. The checkpoint that it names must exist.
  // Ranks other than 0 write nothing.
  void record_best(const Best& best);

  // Makes room on the disk for the job's other output. To be used while no save is running.
  CheckpointRoom& room() { return room_; }

  Uri step_directory(int64_t step) const;
  Communicator* ranks() const { return ranks_; }

 private:
  bool leads() const { return ranks_ == nullptr || ranks_->rank() == 0; }
  // `is_dirty`: the engine may hold parts of damaged files.
  std::optional<TrainingState> restore_newest(Engine& engine, const FitsState& fits,
                                              bool& is_dirty);
  int64_t restore_intact(int64_t best, int64_t newest, ParameterTensors& values);
  std::optional<SaveOutcome> take_outcome();
  void save();
  void write_files(const TrainingState& state);
  void finish_save(const TrainingState& state);
  void finish_replacement(const TrainingState& state);
  void prune(const TrainingState& state);
  void remove_step(int64_t step);

  Storage& storage_;
  Uri directory_;
  CheckpointRoom room_;
  int64_t limit_;
  Saving saving_;
  uint64_t most_copied_;
  Communicator* ranks_;
  Snapshot snapshot_;
  Engine* engine_ = nullptr;  // the one that is saved, until the outcome was taken
  std::chrono::steady_clock::time_point last_start_ = std::chrono::steady_clock::now();
  bool is_being_replaced_ = false;  // the state that was restored
  std::optional<SaveOutcome> outcome_;
  Background background_;  // declared last: it uses the members above
};

// Collectives that copy rank 0's state to the other ranks of a job. Only rank 0 reads checkpoints
// and models, so the others need none of its files. They throw kPeerLost as Communicator says.

// Every rank has rank 0's tensors afterwards.
void share_tensors(Communicator& ranks, ParameterTensors& tensors);

// The same for a training state and, where there is one, for the values and the moments of the
// engine. Calls tensors_written() on the ranks that have received. If the moments are sharded, each
// rank received its share when rank 0 wrote it. Returns rank 0's `state`.
std::optional<TrainingState> share_state(Communicator& ranks, Engine& engine,
                                         const std::optional<TrainingState>& state);

// Rank 0's best evaluation.
std::optional<Best> share_best(Communicator& ranks, const std::optional<Best>& best);

}  // namespace berth
