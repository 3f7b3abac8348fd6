#pragma once

#include <atomic>
#include <memory>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/report/job_output.h"
#include "entrypoint/report/job_progress.h"
#include "storage/base/thread_pool.h"
#include "storage/storage.h"
#include "trainer/cpu/kernels/kernels.h"

namespace berth {

// What every mode works with. All of it is borrowed and outlives the mode.
struct Job {
  // What was asked for. Modes that read rows or a model complete it first: resolve_settings().
  const CommandLine& command_line;
  Storage& storage;
  JobOutput& output;
  JobProgress& progress;
  // A signal sets it. Modes look at it between their phases, and the loop between two updates.
  const std::atomic<bool>& stop;
  // While this is false, a stop makes storage requests give up at once. A mode sets it when there
  // is work that must be saved before the process ends: from the first update on.
  std::atomic<bool>& saves_on_stop;

  // Throws kStopped once a signal asked for a stop. For the phases before the first update, which
  // have nothing to save.
  void stop_point() const;
};

// The threads and kernels that a mode computes with. Owns both.
struct Machine {
  // Takes --threads and --precision from `command_line`, and logs which precision `auto` became.
  explicit Machine(const CommandLine& command_line);

  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
};

}  // namespace berth
