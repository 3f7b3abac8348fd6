#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace berth {

// The name of this machine or container; "host" if the system does not report it.
std::string host_name();

// "host.pid": identifies this process among others that write to the same directory.
std::string process_name();

// Identifies this process among all processes that ever were: the system's boot, the namespace of
// process numbers, the number and when the process started. Empty if /proc does not have it.
std::string process_identity();

// Whether the process of this identity runs on this system, in this namespace of process numbers.
bool is_process_running(std::string_view identity);

// Whether the process of this identity has certainly ended: it was started on this system, in this
// namespace of process numbers, and is not there any more. Nothing is known about other systems.
bool has_process_ended(std::string_view identity);

// The processor's own name, "AMD EPYC 7B13", or "unknown processor".
std::string processor_name();

// The processor and the operating system, for job.json: "AMD EPYC 7B13, Linux 6.1 x86_64".
std::string machine_description();

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
