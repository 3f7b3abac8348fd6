#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/help.h"
#include "entrypoint/platform/run_self.h"
#include "entrypoint/report/final_report.h"
#include "entrypoint/report/log_output.h"
#include "entrypoint/run.h"
#include "storage/file_error.h"

namespace berth {
namespace {

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

// The first SIGTERM or SIGINT asks for a stop. The second one ends the process at once, as if there
// were no handler.
extern "C" void ask_to_stop(int signal_number) {
  if (!stop.exchange(true)) return;
  std::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
  sigset_t set;  // the signal is blocked while its handler runs
  ::sigemptyset(&set);
  ::sigaddset(&set, signal_number);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::_exit(128 +
          signal_number);  // the default action does nothing in the first process of a container
}

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // writing to a closed pipe is then an error of write()
  std::signal(SIGXFSZ, SIG_IGN);  // so is writing more to a file than ulimit -f allows
}

// Answers --help, --version and --help-markdown on standard output. Returns false if none of them
// was given and a job must run.
bool answer(const CommandLine& command_line, const Platform& platform) {
  const int columns = platform.columns.value_or(terminal_columns(STDOUT_FILENO).value_or(80));
  std::string text;
  if (command_line.help) text = help_text(columns);
  if (command_line.version) text += version_text() + "\n";
  if (command_line.help_markdown) text += help_markdown();
  const bool written = std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) == 0;
  if (!written && errno != EPIPE) {  // EPIPE: the reader has seen enough
    throw file_error(errno, "write", "standard output");
  }
  return !text.empty();
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  using namespace berth;
  install_signal_handlers();
  CommandLine command_line;
  JobProgress progress;
  FinalReport report;
  try {
    const Platform platform = read_platform();
    const size_t count = argc > 1 ? static_cast<size_t>(argc - 1) : 0;
    command_line = parse_flags({argv + 1, count}, platform);
    if (command_line.parent_process > 0) end_with_parent(command_line.parent_process);
    if (answer(command_line, platform)) return 0;
    run(command_line, platform, stop, progress);
    report = success_report(progress);
  } catch (...) {
    report = failure_report(std::current_exception(), progress);
  }
  if (report.code != 0 && wants_text(command_line.log_format, standard_error_is_terminal())) {
    write_standard_error("berth: " + sentence(report) + "\n");
  }
  const std::string line = json_line(report);
  write_standard_error(line + "\n");
  if (command_line.parent_process == 0) write_termination_log(line);
  return report.code;
}
