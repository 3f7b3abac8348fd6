#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/report/final_report.h"
#include "entrypoint/report/job_output.h"
#include "storage/base/error.h"
#include "storage/fenced_storage.h"
#include "trainer/distributed/communicator.h"
#include "trainer/engine/device.h"
#include "trainer/xla/pjrt/client_options.h"

namespace berth {

// The device of a job.
struct DeviceChoice {
  DeviceKind kind = DeviceKind::kCpu;  // never kAuto
  std::filesystem::path plugin{};      // the PJRT plugin that drives it; empty for kCpu
};

// Where to look for devices and plugins.
struct Machine {
  std::filesystem::path root = "/";
  std::filesystem::path program_folder{};
};
Machine this_machine();

// Chooses the device: the one that --device names, or for auto the first of TPU, GPU and CPU that
// is there with its plugin. auto takes the CPU if only CPUs compute what the flags ask for. One
// line of the log names the device, unless it is the CPU and there was nothing to choose. Opens no
// plugin.
//
// Throws kUsage if the named device is not there, if the TPU has several hosts, or if the device
// does not compute the job (require_device()). Throws kNotFound if a device's plugin is not there.
DeviceChoice choose_device(const CommandLine& command_line, const Machine& machine);

// Prepares the process for the chosen plugin, before it is opened; see prepare_cuda().
void prepare_device(const DeviceChoice& choice, const CommandLine& command_line);

// The first worker whose device does not multiply bf16, and the first one whose CPU does not.
// With --precision auto, all workers then compute in fp32. nullopt: all of them multiply it, or
// there is one process alone.
struct WithoutBf16 {
  std::optional<int64_t> device{}, host{};
};

// What every mode works with. All of it is borrowed and outlives the mode.
struct Job {
  // What was asked for. Modes that read rows or a model complete it first: resolve_settings().
  const CommandLine& command_line;
  DeviceChoice device;  // the device, in the modes that compute
  Storage& storage;
  FencedStorage& fences;  // the same storage, for code that takes a directory
  JobOutput& output;
  JobProgress& progress;
  // A signal sets it. Modes look at it between their phases, and the loop between two updates.
  const std::atomic<bool>& stop;
  std::function<double()> since_stop;  // the seconds since that signal
  // While this is false, a stop makes storage requests give up at once, and the process ends a
  // second later wherever it is (StopSignals). A mode sets it when there is work that must be
  // saved before the process ends: from the first update on.
  std::atomic<bool>& saves_on_stop;
  // Ends the process from another thread than the job's, which may be blocked: the error is its
  // last words. Does nothing where the process ends already.
  std::function<void(const Error& error)> end_process{};
  bool has_leases = false;        // this process holds the leases of its directories already
  Communicator* ranks = nullptr;  // the workers that do the job together; null: this process alone
  PjrtHosts hosts{};              // the same workers, where their TPUs or GPUs compute together
  WithoutBf16 without_bf16{};     // which of them keep the others from bf16

  // The same job with another command line, which the result borrows.
  Job with(const CommandLine& other) const;

  // Whether this process writes the results.
  bool leads() const { return ranks == nullptr || ranks->rank() == 0; }

  // Throws kStopped once a signal asked for a stop. For work that leaves nothing to save.
  void stop_point() const;
};

// The number of threads to compute with: --threads, else all that this process may use.
int compute_threads(const Settings& settings);

// Makes what a mode computes on, by `job.device`, --threads and --precision, and logs which
// precision `auto` became and why. Throws what make_cpu_device() and make_xla_device() throw.
std::unique_ptr<Device> make_device(const Job& job);

// Whether the CPU of this process multiplies bf16, within the instructions that the job may use.
bool host_multiplies_bf16(const Job& job);

// The precision of what the CPU computes beside the job, whatever computes the job itself: a
// teacher's outputs and probes. It is fp32 where the job's is, and never more than the CPU has.
Precision host_precision(const Job& job);

// Makes the CPU's own kernels ready to compute, whatever computes the job.
std::unique_ptr<Device> make_host_device(const Job& job, Precision precision);

// Writes one object, which `fill` computes: store_object(), where `fill` may be called again. With
// several workers it is called once, because the others compute with this one, and the bytes wait
// in a temporary file.
void store_results(const Job& job, const Uri& uri, const std::function<void(ByteSink&)>& fill);

// Throws kIncompatible where a worker has read other files than this one. `own` identifies what
// this one has read. All workers call it. Their settings were compared when they met.
void require_same_on_workers(Communicator& ranks, const std::string& own);

}  // namespace berth
