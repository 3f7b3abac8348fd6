#include "entrypoint/platform/stop_signals.h"

#include <dirent.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr timespec kTick{.tv_sec = 0, .tv_nsec = 20'000'000};
// timeout(1) sends its signal to the process and to its group. A terminal sends Ctrl-C to a parent
// and its children, and the parent may pass it on. So one signal may arrive twice.
constexpr double kSameSignal_s = 0.3;
constexpr double kLongestAct_s = 1;
constexpr int kStoppedCode = 128 + SIGTERM;

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  return set;
}

[[noreturn]] void end_by(int signal_number) {
  std::signal(signal_number, SIG_DFL);
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal_number);
  // The default action does nothing in the first process of a container.
  ::_exit(128 + signal_number);
}

}  // namespace

void block_stop_signals() {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignals::StopSignals(double grace_s, std::function<void()> last_words)
    : grace_s_(grace_s), last_words_(std::move(last_words)) {
  block_stop_signals();
  thread_ = std::thread([this] { wait_for_signals(); });
}

StopSignals::~StopSignals() {
  leaves_ = true;
  ::pthread_kill(thread_.native_handle(), SIGTERM);  // wakes it
  thread_.join();
}

void StopSignals::set_act_before_end(std::function<void()> act) {
  const std::lock_guard lock(acting_);
  act_ = std::move(act);
}

void StopSignals::act_before_end() {
  const std::lock_guard lock(acting_);
  if (act_) run_within(kLongestAct_s, act_);
}

double StopSignals::since_stop_s() const { return stop_ ? steady_clock_s() - first_s_ : 0; }

void StopSignals::claim_end() {
  if (!ended_.exchange(true)) return;
  while (true) ::pause();
}

void StopSignals::wait_for_signals() {
  const sigset_t set = stop_signals();
  int signal_number = 0;
  while (::sigwait(&set, &signal_number) != 0) {
  }
  if (leaves_) return;
  const double first_s = steady_clock_s();
  first_s_ = first_s;
  stop_ = true;
  double deadline_s = first_s + grace_s_;
  while (true) {
    signal_number = ::sigtimedwait(&set, nullptr, &kTick);
    if (leaves_) return;
    if (signal_number > 0 && steady_clock_s() - first_s > kSameSignal_s) end_by(signal_number);
    if (saves_on_stop_) {
      const double end_s = first_s + longest_save_s_;
      deadline_s = std::min(steady_clock_s() + grace_s_, end_s);
      if (steady_clock_s() < end_s) continue;
    }
    if (steady_clock_s() < deadline_s || ended_.exchange(true)) continue;
    act_before_end();
    last_words_();
    ::_exit(kStoppedCode);
  }
}

void run_within(double seconds, std::function<void()> act) {
  std::packaged_task<void()> task(std::move(act));
  const std::future<void> done = task.get_future();
  std::thread(std::move(task)).detach();
  done.wait_for(std::chrono::duration<double>(seconds));
}

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
