#include "entrypoint/platform/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "entrypoint/platform/run_within.h"
#include "storage/base/clock.h"

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

}  // namespace berth
