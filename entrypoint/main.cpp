#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/explain.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/foreign/translation.h"
#include "entrypoint/flags/help.h"
#include "entrypoint/platform/stop_signals.h"
#include "entrypoint/platform/this_process.h"
#include "entrypoint/report/final_report.h"
#include "entrypoint/report/standard_streams.h"
#include "entrypoint/run.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"

namespace berth {
namespace {

// The seconds after a signal in which a job that has nothing to save ends, whatever it waits for.
constexpr double kGrace_s = 1.0;

// Runs before the constructors of the program and of its libraries, so that a signal at that time
// waits for StopSignals. Sanitizers are not ready then, hence the plain system call.
__attribute__((no_sanitize("address", "thread", "undefined"))) void block_signals_early(int, char**,
                                                                                        char**) {
  // The kernel's set of signals: signal n is bit n - 1.
  static constexpr uint64_t kSet = uint64_t{1} << (SIGTERM - 1) | uint64_t{1} << (SIGINT - 1);
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kSet, nullptr, sizeof kSet);
}
__attribute__((section(".preinit_array"), used)) void (*const early)(int, char**,
                                                                     char**) = block_signals_early;

void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);  // writing to a closed pipe is then an error of write()
  std::signal(SIGXFSZ, SIG_IGN);  // so is writing more to a file than ulimit -f allows
}

// How the process ends is said by the main thread, or by the thread of StopSignals.
class LastWords {
 public:
  // For an error of the command line: takes the format from a line that is not parsed yet.
  void expect(std::span<const char* const> arguments) {
    const std::vector<std::string> words(arguments.begin(), arguments.end());
    const std::string format = TypedCommand(words).value("log-format").value_or("auto");
    if (format == "text" || format == "json") as_text_ = format == "text";
  }

  // Before this call, and without expect(), the last words have the form of --log-format auto.
  void configure(const CommandLine& command_line) {
    as_text_ = wants_text(command_line.log_format, standard_error_is_terminal());
    // The result of a liveness check in a job's container is not that job's final report.
    has_log_ =
        command_line.parent_process == 0 && !traits(command_line.settings.mode).is_liveness_check;
    names_results_ = command_line.parent_process == 0 && command_line.log_level >= LogLevel::kInfo;
  }

  void say(const FinalReport& report) const {
    const std::string line = json_line(report);
    if (!as_text_) write_standard_error(line + "\n");
    if (as_text_ && report.code != 0) write_standard_error("berth: " + sentence(report) + "\n");
    if (as_text_ && report.code == 0 && names_results_) {
      write_standard_error(results_text(report.results));
    }
    if (has_log_) write_termination_log(line);
  }

  // For a process whose main thread is busy, perhaps with writing to a standard error that nobody
  // reads.
  void say_from_elsewhere(const Error& error, const JobProgress& progress) const {
    const FinalReport report = failure_report(std::make_exception_ptr(error), progress);
    if (!standard_error_takes_text(kGrace_s / 2)) {
      if (has_log_) write_termination_log(json_line(report));
      return;
    }
    if (standard_error_is_terminal()) write_standard_error("\n");  // below the progress bar
    say(report);
  }

 private:
  std::atomic<bool> as_text_ = standard_error_is_terminal();
  std::atomic<bool> names_results_ = false;
  std::atomic<bool> has_log_ = true;  // whether the pod's termination message is this process's
};

// How the user calls this program (CommandLine::program). Process 1 is what a container runs.
std::string program_name(int argc, char** argv) {
  if (::getpid() == 1) return "";
  return argc > 0 && *argv[0] != '\0' ? argv[0] : "berth";
}

void print(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) == 0;
  if (!written && errno != EPIPE) {  // EPIPE: the reader has seen enough
    throw file_error(errno, "write", "standard output");
  }
}

// Answers `berth explain ...`. Returns false if that was not asked for.
bool answer_explain(std::span<const char* const> arguments) {
  if (arguments.empty() || std::string_view(arguments[0]) != "explain") return false;
  const std::string_view first = arguments.size() == 2 ? arguments[1] : "";
  if (first == "--help" || first == "-h") return false;
  print_explanation(arguments.subspan(1));
  return true;
}

// Every argument that may be the path of an input. If it is a named pipe, the user means it.
std::vector<std::string> named_paths(std::span<const char* const> arguments) {
  std::vector<std::string> paths;
  for (const char* argument : arguments) {
    for (std::string& part : parted(argument, "=,")) paths.push_back(std::move(part));
  }
  return paths;
}

// Shows a user who typed only `berth` how to begin. The error that follows says what is missing.
void greet(std::span<const char* const> arguments, const Platform& platform) {
  const bool is_job = !platform.training_data.empty() || !platform.model_dir.empty();
  if (arguments.empty() && !is_job) print(usage_text() + "\n");
}

// Answers --help, --version, --help-markdown and --help-json on standard output. Returns false if
// none of them was given and a job must run.
bool answer(const CommandLine& command_line, const Platform& platform) {
  const int columns = platform.columns.value_or(terminal_columns(STDOUT_FILENO).value_or(80));
  std::string text;
  if (command_line.help) text = help_text(columns, command_line.help_mode);
  if (command_line.version) text += version_text() + "\n";
  if (command_line.help_markdown) text += help_markdown();
  if (command_line.help_json) text += help_json();
  print(text);
  return !text.empty();
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  using namespace berth;
  ignore_write_signals();
  CommandLine command_line;
  JobProgress progress;
  LastWords last_words;
  StopSignals signals(kGrace_s, [&] {
    last_words.say_from_elsewhere(Error(Code::kStopped, "a signal stopped the job", "",
                                        "start it again with the same command"),
                                  progress);
  });
  const auto end_process = [&](const Error& error) {
    if (!signals.claim_end_elsewhere()) return;
    signals.act_before_end();
    if (error.code() == Code::kPeerLost && command_line.cluster.least > 0 && !signals.stop()) {
      log_warning(cat(error.problem(), ": going on without it"));
      start_again();
    }
    last_words.say_from_elsewhere(error, progress);
    ::_exit(exit_code(error.code()));
  };
  FinalReport report;
  try {
    const Platform platform = read_platform();
    const std::span<const char* const> arguments(argv + 1, argc > 1 ? argc - 1U : 0U);
    if (answer_explain(arguments)) return 0;
    last_words.expect(arguments);
    greet(arguments, platform);
    command_line = parse_flags(arguments, platform);
    command_line.program = program_name(argc, argv);
    command_line.storage.pipes = named_paths(arguments);
    last_words.configure(command_line);
    if (command_line.parent_process > 0) end_with_parent(command_line.parent_process);
    if (command_line.owner_process > 0) stop_with_owner(command_line.owner_process);
    if (answer(command_line, platform)) return 0;
    run(command_line, platform, signals, progress, end_process);
    report = success_report(progress);
  } catch (const OutputClosed&) {
    signals.claim_end();
    return 0;
  } catch (...) {
    report = failure_report(std::current_exception(), progress);
  }
  signals.claim_end();
  last_words.say(report);
  return report.code;
}
