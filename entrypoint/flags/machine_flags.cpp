#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"

namespace berth {
namespace {

FlagValue precision_value() {
  FlagValue value = choice_value<Precision>(
      place(&CommandLine::settings, &Settings::precision),
      {{"auto", Precision::kAuto}, {"fp32", Precision::kFp32}, {"bf16", Precision::kBf16}});
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    const std::string word = lower_ascii(given);
    if (word == "float32") return set(line, "fp32");
    if (word == "bfloat16") return set(line, "bf16");
    if (word != "fp16" && word != "float16") return set(line, given);
    line.notes.push_back("fp16 is for GPUs: with --precision auto this CPU takes bf16 if it can");
    set(line, "auto");
  };
  return value;
}

}  // namespace

std::vector<Flag> machine_flags() {
  using enum FlagGroup;
  return {
      {"precision",
       {"dtype"},
       kMachine,
       "What the factors of matrix products are rounded to, and with them what backward keeps; "
       "sums, "
       "statistics and the optimizer are fp32. auto: bf16 where the CPU multiplies it (AMX, "
       "AVX512_BF16).",
       precision_value()},
      {"threads",
       {"num-threads"},
       kMachine,
       "Threads to compute with.",
       integer_value(place(&CommandLine::settings, &Settings::threads), {0, 1024}),
       "all CPUs that the job may use"},
      {.name = "dry-run",
       .aliases = {},
       .group = kMachine,
       .help = "Do everything that comes before the first update, print what the job will come to "
               "and the memory that it needs, and stop.",
       .value = switch_value(place(&CommandLine::dry_run)),
       .in_settings = false},
      {.name = "help",
       .aliases = {},
       .group = kMachine,
       .help = "Print this and exit; also -h.",
       .value = switch_value(place(&CommandLine::help)),
       .in_settings = false},
      {.name = "version",
       .aliases = {},
       .group = kMachine,
       .help = "Print the version and exit.",
       .value = switch_value(place(&CommandLine::version)),
       .in_settings = false},

      {.name = "help-markdown",
       .aliases = {},
       .group = kHidden,
       .help = "Print README's table.",
       .value = switch_value(place(&CommandLine::help_markdown)),
       .in_settings = false},
      {.name = "instruction-set",
       .aliases = {},
       .group = kHidden,
       .help = "Compute by these CPU instructions, for tests.",
       .value = text_value("NAME", place(&CommandLine::forced_instruction_set)),
       .in_settings = false},
  };
}

}  // namespace berth
