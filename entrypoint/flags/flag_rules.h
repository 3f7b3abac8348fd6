#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/flags/flag_table.h"
#include "trainer/inputs/options.h"
#include "trainer/model/task.h"

namespace berth {

// The flags that were given and that the mode does not use: one sentence, or empty. Flags that
// would be wrong beside the mode are refused by check_settings(). People start a second mode by the
// command of the first one, so the others are no error.
std::string unused_flags(const CommandLine& command_line);

// The mode that a word names before all flags, as in `berth predict`; empty: it names none.
std::string mode_of_word(std::string_view word);

// The table for docs/tasks.md: a row for each flag that only some tasks heed, a column for each
// task that can be trained.
std::string task_flags_markdown();

// Whether an earlier version began the job with this value of a flag.
using WasAccepted = std::function<bool(std::string_view flag, std::string_view value)>;

// Throws kUsage where a flag was given, has another value than its default, and changes nothing in
// a training of `task`. A flag that changes an evaluation of rows of the task `evaluated` is used,
// too; nullopt: it is the same task. It is only a warning where `was_accepted` says so of the flag
// and its value.
void require_heeded(const CommandLine& command_line, Task task, const WasAccepted& was_accepted,
                    std::optional<Task> evaluated = std::nullopt);

// The same where the other settings of the training make a flag change nothing, and where the
// learning rate would end above `peak`. nullopt: the peak is not known.
void require_used(const CommandLine& command_line, std::optional<double> peak,
                  const WasAccepted& was_accepted);

// The same for flags that say how tokens are masked, where the rows to train or to evaluate on are
// masked already.
void require_no_masking(const CommandLine& command_line, const WasAccepted& was_accepted);

// For a mode that runs a finished model of `task`: warns of flags that were given, have another
// value than their defaults, and change nothing in this task. Throws kUsage where the mode refuses
// such a flag anywhere (kRefusedElsewhere), because predictions would be other ones with it.
void heed_flags_of_model(const CommandLine& command_line, Task task);

// THE table of what runs on which device: the CPU's own kernels, or TPUs, GPUs and xla-cpu. The
// refusals below, the choice of --device auto and the table of docs/devices.md come from it.

// Throws kUsage if the job asks for something that `kind` does not compute. kAuto computes
// everything. `task` is the job's task as the rows or the model give it; by default it is the
// task that --task names.
void require_device(const CommandLine& command_line, DeviceKind kind,
                    std::optional<Task> task = {});

// What the job asks for that only the CPU computes, so that --device auto takes the CPU:
// "--task similarity". Empty: there is nothing of the kind.
std::string needs_cpu(const CommandLine& command_line);

// The table for docs/devices.md.
std::string devices_markdown();

// Names the files that the data flags imply, without reading any: the files of the GLUE task in
// --data-dir. In prediction, also the rows to evaluate on, if --input-meta-data-path is given
// without rows to predict. Throws kUsage on an unknown task.
void complete_data_files(DataOptions& data, Mode mode);

// Whether the rows are to be prepared as texts to pre-train on: --mode prepare --task mlm.
bool prepares_corpus(const DataOptions& data, Mode mode);

// Throws kUsage where a flag that the mode needs is missing, or where flags contradict each other.
// Looks at no file.
void check_settings(const CommandLine& command_line);

}  // namespace berth
