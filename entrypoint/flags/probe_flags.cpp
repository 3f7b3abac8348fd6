#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/probe_list.h"

namespace berth {
namespace {

auto probe_option(auto member) { return place(&CommandLine::settings, &Settings::probes, member); }

FlagValue probe_value() {
  FlagValue value = text_value("[NAME:][TASK=]FILE,...", probe_option(&ProbeOptions::files));
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    std::string files;  // with the home directory in the place of ~/
    for (size_t at = 0; at < given.size(); ++at) {
      const bool begins_file = at == 0 || std::string_view(",:=").find(given[at - 1]) < 3;
      const bool is_home = begins_file && given.substr(at).starts_with("~/");
      files += is_home ? parse_path("~", line.home) : std::string(1, given[at]);
    }
    for (const ProbeFile& probe : parse_probes(files)) parse_path(probe.file, line.home);
    set(line, files);
  };
  return value;
}

}  // namespace

std::vector<Flag> probe_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {"probe",
       {},
       kSaving,
       "For pre-training: fine-tune the current encoder on these labelled rows and report the "
       "scores. This happens before the first update, at intervals and at the end. FILE is any "
       "value of --train-data-file (write a comma in it as \\,), and TASK is a value of --task. "
       "Training waits meanwhile, and its result is the same as without probes.",
       probe_value(),
       {kFree, kInTraining, kOwnToWorker},
       "none"},
      {"probe-steps",
       {},
       kSaving,
       "Probe after every N updates. 0 means as often as evaluations.",
       integer_value(probe_option(&ProbeOptions::steps), {0, kAnyCount}),
       FlagRole(kFree, kInTraining).only_with("probe", "probe")},
      {"probe-samples",
       {},
       kSaving,
       "How many rows of its file a probe trains on at most, in three epochs. It scores about as "
       "many others, but no more than a fifth of the rows.",
       integer_value(probe_option(&ProbeOptions::samples), {1, kAnyCount}),
       FlagRole(kFree, kInTraining).only_with("probe", "probe")},
  };
}

}  // namespace berth
