#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// A flag of run_classifier.py or a similar program. Its value changes nothing here; `why` says why,
// and the log repeats it once.
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
  const std::string no_graph = "--device decides whether programs are compiled";
  return {
      accepted("tpu-zone", false, "berth uses the TPU of the machine on which it runs"),
      accepted("all-reduce-alg", false, "XLA chooses how devices add their gradients"),
      accepted("steps-per-loop", false, "the loop runs one update at a time"),
      accepted("enable-xla", true, no_graph),
      accepted("run-eagerly", true, no_graph),
      accepted("use-keras-compile-fit", true, no_graph),
      accepted("loss-scale", false, "fp32 and bf16 need no loss scaling"),
      accepted("train-data-size", false, "berth counts the rows as it reads them"),
      accepted("gin-file", false, "berth reads no gin files; every option is a flag",
               {"gin-param"}),
      accepted("dataloader-num-workers", false,
               "berth always prepares batches on one thread beside training"),
  };
}

}  // namespace berth
