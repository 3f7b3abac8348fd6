#include "entrypoint/platform/thread_stacks.h"

#include <dirent.h>
#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// The data of the signal's handler. It may only use functions that are safe in a handler.
std::atomic<int> stack_file = -1;
std::atomic<bool> is_written = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

constexpr int kMostFrames = 64;

void write_own_stack(int) {
  void* frames[kMostFrames];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, kMostFrames), stack_file);
  is_written = true;
}

std::vector<pid_t> threads() {
  std::vector<pid_t> found;
  DIR* const folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return found;
  while (const dirent* const entry = ::readdir(folder)) {
    const pid_t thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (thread > 0) found.push_back(thread);
  }
  ::closedir(folder);
  return found;
}

void write_line(int file_descriptor, const std::string& text) {
  [[maybe_unused]] const ssize_t written = ::write(file_descriptor, text.data(), text.size());
}

void wait_for_stack() {
  constexpr double kLongest_s = 0.5, kStep_s = 0.001;
  const double begin_s = steady_clock_s();
  while (!is_written && steady_clock_s() - begin_s < kLongest_s) sleep_s(kStep_s);
}

}  // namespace

void write_thread_stacks(int file_descriptor) {
  void* frame;
  ::backtrace(&frame, 1);  // loads the library that unwinds, which a handler must not do
  const int signal_number = SIGRTMIN + 3;
  struct sigaction ours {
  }, before{};
  ours.sa_handler = write_own_stack;
  ours.sa_flags = SA_RESTART;
  ::sigaction(signal_number, &ours, &before);
  stack_file = file_descriptor;
  const pid_t own = static_cast<pid_t>(::syscall(SYS_gettid));
  for (const pid_t thread : threads()) {
    if (thread == own) continue;
    std::string name;
    std::getline(std::ifstream(cat("/proc/self/task/", thread, "/comm")), name);
    write_line(file_descriptor, cat("thread ", thread, " (", name, "):\n"));
    is_written = false;
    if (::syscall(SYS_tgkill, ::getpid(), thread, signal_number) == 0) wait_for_stack();
  }
  ::sigaction(signal_number, &before, nullptr);
}

}  // namespace berth
