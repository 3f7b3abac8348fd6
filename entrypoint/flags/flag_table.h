#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/flags/flag_role.h"
#include "entrypoint/flags/flag_value.h"

namespace berth {

// The headings of --help, in its order.
enum class FlagGroup {
  kData,
  kModel,
  kTraining,
  kOptimization,
  kSaving,
  kOutput,
  kStorage,
  kTools,
  kMachine,
  kHidden  // not shown in help
};
std::string_view heading(FlagGroup group);

// One flag: THE row of all that the program knows of it. Names are kebab-case; `_` may stand for
// `-` wherever a user types one.
struct Flag {
  std::string name;
  std::vector<std::string> aliases;  // other programs' spellings with the same meaning
  FlagGroup group;
  std::string help;  // one or more sentences
  FlagValue value;
  FlagRole role;                  // has no default: see flag_role.h
  std::string default_text = {};  // the default in words, where the value would not say it
};

// THE flag table. Parsing, --help, the tables of docs/flags.md and docs/tasks.md, and the settings
// in job.json come from it. So do the parts of these settings that make a job's identity, that its
// workers share, and that the runs of its model take over. Flags of other programs are translated
// into these before: see foreign/translation.h.
std::span<const Flag> flag_table();
// The row of this canonical name. nullptr: there is none.
const Flag* find_flag(std::string_view name);

// Its rows, group by group, each in the file named after it.
std::vector<Flag> data_flags();
std::vector<Flag> model_flags();
std::vector<Flag> embedding_flags();  // FlagGroup::kModel
std::vector<Flag> training_flags();
std::vector<Flag> optimization_flags();
std::vector<Flag> evaluation_flags();  // FlagGroup::kSaving
std::vector<Flag> probe_flags();       // FlagGroup::kSaving
std::vector<Flag> output_flags();
std::vector<Flag> storage_flags();
std::vector<Flag> tool_flags();
std::vector<Flag> corpus_flags();   // of FlagGroup::kTools: the cleaning of a corpus
std::vector<Flag> device_flags();   // FlagGroup::kMachine
std::vector<Flag> cluster_flags();  // FlagGroup::kMachine
std::vector<Flag> machine_flags();  // and the hidden ones

}  // namespace berth
