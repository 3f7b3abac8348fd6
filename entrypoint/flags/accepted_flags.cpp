#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// A flag of run_classifier.py or its like whose value changes nothing here, and why.
Flag accepted(const std::string& name, bool is_switch, const std::string& why,
              std::vector<std::string> aliases = {}) {
  const auto note = [name, why](CommandLine& line, std::string_view) {
    line.notes.push_back(cat("--", name, " has no effect: ", why));
  };
  return {.name = name,
          .aliases = std::move(aliases),
          .group = FlagGroup::kAccepted,
          .help = why,
          .value = {is_switch ? "" : "VALUE", is_switch, note,
                    [](const CommandLine&) { return std::string(); }},
          .in_settings = false};
}

}  // namespace

std::vector<Flag> accepted_flags() {
  const std::string on_cpus = "this version computes on the CPUs of one machine";
  const std::string no_graph = "there is no graph to compile, or to run without";
  return {
      accepted("distribution-strategy", false, on_cpus),
      accepted("tpu", false, on_cpus, {"tpu-name", "tpu-zone", "tpu-address"}),
      accepted("num-gpus", false, on_cpus),
      accepted("all-reduce-alg", false, on_cpus),
      accepted("steps-per-loop", false, "every update is a step of the loop"),
      accepted("enable-xla", true, no_graph),
      accepted("run-eagerly", true, no_graph),
      accepted("use-keras-compile-fit", true, no_graph),
      accepted("loss-scale", false, "fp32's range needs none"),
      accepted("train-data-size", false, "rows are counted as they are read"),
      accepted("gin-file", false, "every option is a flag", {"gin-param"}),
      accepted("dataloader-num-workers", false,
               "rows are made ready on a thread of their own, beside training"),
  };
}

}  // namespace berth
