#include "entrypoint/run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/job/job.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/report/job_output.h"
#include "entrypoint/report/progress_lines.h"
#include "storage/base/log.h"
#include "storage/open_storage.h"

namespace berth {
namespace {

// The part of --grace-seconds that is reserved for the final report of a job that ends while it
// saves.
constexpr double kLastActs_s = 1;

// The device of a mode that computes. It is chosen before anything is downloaded, so that a job
// whose device is missing ends at once.
DeviceChoice device_for(const CommandLine& command_line) {
  if (!traits(command_line.settings.mode).computes) return {};
  const DeviceChoice choice = choose_device(command_line, this_machine());
  prepare_device(choice, command_line);
  return choice;
}

void train_once_or_by_seeds(Job& job) {
  job.command_line.settings.training.seeds > 1 ? run_seeds(job) : run_training(job);
}

// What runs each mode.
constexpr std::pair<Mode, void (*)(Job&)> kRuns[] = {
    {Mode::kTrain, train_once_or_by_seeds},
    {Mode::kTrainAndEval, train_once_or_by_seeds},
    {Mode::kEval, [](Job& job) { run_inference(job, run_evaluation); }},
    {Mode::kPredict, [](Job& job) { run_inference(job, run_prediction); }},
    {Mode::kEmbed, [](Job& job) { run_inference(job, run_embedding); }},
    {Mode::kMine, [](Job& job) { run_inference(job, run_mining); }},
    {Mode::kExportOnly, run_export},
    {Mode::kPrepare, run_preparation},
    {Mode::kTokenize, run_tokenization},
    {Mode::kInspect, run_inspection},
    {Mode::kConvert, run_conversion},
    {Mode::kTrainTokenizer, run_tokenizer_training},
    {Mode::kHeartbeat, run_heartbeat},
    {Mode::kBench, run_benchmark},
    {Mode::kFetch, run_fetch},
    {Mode::kReport, run_comparison},
};
static_assert(std::ranges::is_sorted(kRuns, {}, &std::pair<Mode, void (*)(Job&)>::first));
static_assert(std::size(kRuns) == static_cast<size_t>(Mode::kReport) + 1);

// While it exists, leases are given back also where the process ends without unwinding.
class GivesBackAtEnd {
 public:
  GivesBackAtEnd(StopSignals& signals, FencedStorage& storage) : signals_(signals) {
    signals_.set_act_before_end([&storage] { storage.give_back_leases(); });
  }
  ~GivesBackAtEnd() { signals_.set_act_before_end(nullptr); }
  GivesBackAtEnd(const GivesBackAtEnd&) = delete;
  GivesBackAtEnd& operator=(const GivesBackAtEnd&) = delete;

 private:
  StopSignals& signals_;
};

}  // namespace

void run(const CommandLine& command_line, const Platform& platform, StopSignals& signals,
         JobProgress& progress, const std::function<void(const Error&)>& end_process) {
  if (const auto grace_s = static_cast<double>(command_line.settings.training.grace_s)) {
    signals.limit_saving(std::max(grace_s / 2, grace_s - kLastActs_s));
  }
  FencedStorage* fenced = nullptr;
  const auto gives_up = [&] {
    if (fenced != nullptr && fenced->gives_back()) return false;
    return signals.stop() && !signals.saves_on_stop();
  };
  StorageOptions storage_options = command_line.storage;
  storage_options.transfer.on_progress = log_transfer;
  storage_options.http.gives_up = gives_up;
  storage_options.retry.gives_up = [&] {
    return gives_up() || (fenced != nullptr && fenced->last_acts_are_over());
  };
  const std::unique_ptr<Storage> opened = open_storage(storage_options);
  FencedStorage storage(*opened);  // outlives `output`
  fenced = &storage;
  const GivesBackAtEnd gives_back(signals, storage);
  JobOutput output(command_line, platform, progress);
  for (const std::string& note : command_line.notes) log_info(note);
  if (const std::string unused = unused_flags(command_line); !unused.empty()) log_warning(unused);
  Job job{.command_line = command_line,
          .device = device_for(command_line),
          .storage = storage,
          .fences = storage,
          .output = output,
          .progress = progress,
          .stop = signals.stop(),
          .since_stop = [&signals] { return signals.since_stop_s(); },
          .saves_on_stop = signals.saves_on_stop(),
          .end_process = end_process};
  kRuns[static_cast<size_t>(command_line.settings.mode)].second(job);
}

}  // namespace berth
