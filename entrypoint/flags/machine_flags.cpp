#include "entrypoint/flags/flag_table.h"
#include "storage/base/text.h"

namespace berth {
namespace {

FlagValue precision_value() {
  FlagValue value = choice_value<Precision>(place(&CommandLine::settings, &Settings::precision),
                                            {{"auto", Precision::kAuto},
                                             {"fp32", Precision::kFp32},
                                             {"bf16", Precision::kBf16},
                                             {"int8", Precision::kInt8}});
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    const std::string word = lower_ascii(given);
    if (word == "float32") return set(line, "fp32");
    if (word == "bfloat16") return set(line, "bf16");
    if (word != "fp16" && word != "float16") return set(line, given);
    line.notes.push_back(
        "--precision fp16 is not available; auto is used instead, which means bf16 if the device "
        "multiplies it, and fp32 if not");
    set(line, "auto");
  };
  return value;
}

// expand_flag_files() has replaced the flag before values are set.
FlagValue flag_file_value() {
  return {"FILE", false, [](CommandLine&, std::string_view) {},
          [](const CommandLine&) { return std::string(); }};
}

}  // namespace

std::vector<Flag> machine_flags() {
  using enum Effect;
  using enum FlagGroup;
  return {
      {"precision",
       {"dtype"},
       kMachine,
       "The type of the factors in matrix products, and of the activations that are stored for the "
       "backward pass. Sums, statistics and the optimizer always use fp32. auto means bf16 on "
       "TPUs, on GPUs and on a CPU that multiplies it (AMX, AVX512_BF16), and fp32 elsewhere. "
       "Without this flag, --mode embed uses fp32, and a resumed job uses its first precision. "
       "int8 is "
       "for --mode predict, eval and embed on CPUs, where it is faster than fp32; eval shows its "
       "cost in accuracy.",
       precision_value(),
       {kDecides, kEverywhere}},
      {"threads",
       {"num-threads"},
       kMachine,
       "How many threads to compute with.",
       integer_value(place(&CommandLine::settings, &Settings::threads), {0, 1024}),
       {kFree, kEverywhere, kOwnToWorker},
       "one for each CPU that the job may use"},
      {.name = "profile",
       .aliases = {},
       .group = kMachine,
       .help = "Record the work of the threads in N updates, print the ten largest costs, and "
               "write JOB_DIR/profile.pftrace, which ui.perfetto.dev shows. 0 records nothing.",
       .value = integer_value(place(&CommandLine::profiled_updates), {0, 1000}),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "price-per-hour",
       .aliases = {},
       .group = kMachine,
       .help = "The price of this machine for an hour, in any currency. The end of a training and "
               "--mode bench then give the price of an epoch.",
       .value = optional_real_value(place(&CommandLine::price_per_hour),
                                    {0, 1e9, true, true, "a price"}),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "not known"},
      {.name = "dry-run",
       .aliases = {},
       .group = kMachine,
       .help = "Do everything that comes before the first update, print the size of the job and "
               "the memory that it needs, and stop.",
       .value = switch_value(place(&CommandLine::dry_run)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "flagfile",
       .aliases = {},
       .group = kMachine,
       .help = "Take the flags in this local file, one a line as --name=value, as if they stood in "
               "place of this flag.",
       .value = flag_file_value(),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "help",
       .aliases = {},
       .group = kMachine,
       .help = "Print this help and exit; also -h.",
       .value = switch_value(place(&CommandLine::help)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "version",
       .aliases = {},
       .group = kMachine,
       .help = "Print the version and exit.",
       .value = switch_value(place(&CommandLine::version)),
       .role = {kUnrecorded, kEverywhere}},

      {.name = "help-markdown",
       .aliases = {},
       .group = kHidden,
       .help = "Print the flag tables of docs/flags.md and exit.",
       .value = switch_value(place(&CommandLine::help_markdown)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "help-json",
       .aliases = {},
       .group = kHidden,
       .help = "Print the flag table for programs, as one JSON object, and exit.",
       .value = switch_value(place(&CommandLine::help_json)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "instruction-set",
       .aliases = {},
       .group = kHidden,
       .help =
           "Compute without the CPU instructions above these, for tests: baseline, avx2 or avx512 "
           "(with AVX512_BF16, without AMX).",
       .value = text_value("NAME", place(&CommandLine::highest_instruction_set)),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "memory-limit",
       .aliases = {},
       .group = kHidden,
       .help = "The most bytes of memory that a training may use, for a process beside another.",
       .value = integer_value(place(&CommandLine::memory_limit), {0, INT64_MAX}),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "owner-process",
       .aliases = {},
       .group = kHidden,
       .help = "Stop as after SIGTERM when this process ends, which must have started the program.",
       .value = integer_value(place(&CommandLine::owner_process), {0, INT32_MAX}),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "parent-process",
       .aliases = {},
       .group = kHidden,
       .help = "End when this process does, and leave its termination message alone.",
       .value = integer_value(place(&CommandLine::parent_process), {0, INT32_MAX}),
       .role = {kUnrecorded, kEverywhere}},
  };
}

}  // namespace berth
