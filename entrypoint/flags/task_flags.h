#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "entrypoint/flags/command_line.h"
#include "trainer/model/task.h"

namespace berth {

// The table for docs/tasks.md: a row for each flag that only some tasks heed, a column for each
// task that can be trained.
std::string task_flags_markdown();

// Throws kUsage where a flag was given, has another value than its default, and changes nothing in
// a training of `task`. It is only a warning where `was_accepted` says so of the flag and its
// value: an earlier version began the job with it.
void require_heeded(const CommandLine& command_line, Task task,
                    const std::function<bool(std::string_view, std::string_view)>& was_accepted);

}  // namespace berth
