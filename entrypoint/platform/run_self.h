#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace berth {

// How a process ended: with an exit code, or by a signal.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // 0: it was none
};

// Runs this program with `arguments` in a process of its own, and waits for its end. Its output
// goes to the file `log`, and its TMPDIR is the directory `temporary`. Its environment lacks the
// variables that a platform sets for one job only: places to write to, and trials of a study. It
// gets --parent-process, so that it cannot outlive this one, whose calling thread must live until
// then. Returns nullopt if `stop` was set: the process was then killed, and is gone. Throws
// kNoSpace where the process cannot be started.
std::optional<ProcessEnd> run_self(std::span<const std::string> arguments,
                                   const std::filesystem::path& log,
                                   const std::filesystem::path& temporary,
                                   const std::atomic<bool>& stop);

// Starts this program again in this process, with its arguments and its environment. Returns only
// where that fails.
void start_again();

// Makes this process end as soon as its parent, `process`, does, also if that is killed. Makes it
// the first to be killed where memory runs out. Ends it at once where the parent is gone already.
void end_with_parent(int64_t process);

// Sends this process SIGTERM as soon as the thread of `process` that started it ends, so that the
// job saves and stops. Sends it at once where `process` is not the parent, because it is gone.
void stop_with_owner(int64_t process);

}  // namespace berth
