#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

namespace berth {

// Blocks SIGTERM and SIGINT in the calling thread and in the threads that it starts. They then wait
// for a StopSignals instead of ending the process.
void block_stop_signals();

// Receives SIGTERM and SIGINT on a thread of its own. The reason: the job's threads may be blocked
// in a system call, such as open() of a pipe or read() of a stalled mount.
//
// The first signal sets stop(). The job is to look at it and to end soon. A job that is still
// running after `grace_s` is ended from the signal's thread, unless it has something to save.
// A second signal, at least 0.3 seconds later, ends the process at once, by its default action.
class StopSignals {
 public:
  // `last_words` says how the process ends, just before the signal's thread ends it with the exit
  // code 143. It must not wait for the job's threads. Calls block_stop_signals(), so make the
  // object before other threads.
  StopSignals(double grace_s, std::function<void()> last_words);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& stop() const { return stop_; }
  // The seconds since the first signal; 0: there was none.
  double since_stop_s() const;

  // While it is true, the job has something to save. After the first signal, it may then take as
  // long as limit_saving() allows. Without a limit, it may take any time.
  std::atomic<bool>& saves_on_stop() { return saves_on_stop_; }
  void limit_saving(double longest_s) { longest_save_s_ = longest_s; }

  // `act` runs before the last words if the process ends while the job's threads are busy. This is
  // after a signal, or when another thread claimed the end and calls act_before_end(). It runs on a
  // thread of its own, for which the end waits at most a second. An empty `act` removes the earlier
  // one, and waits while that runs.
  void set_act_before_end(std::function<void()> act);
  void act_before_end();

  // The job has ended, and its caller says how. From now on `last_words` is not called. If it has
  // been, this function does not return.
  void claim_end();
  // The same for another thread than the job's, which is going to end the process. Returns false if
  // another thread already says how the process ends.
  bool claim_end_elsewhere() { return !ended_.exchange(true); }

 private:
  void wait_for_signals();

  const double grace_s_;
  const std::function<void()> last_words_;
  std::atomic<bool> stop_ = false, saves_on_stop_ = false;
  std::atomic<double> longest_save_s_ = std::numeric_limits<double>::infinity();
  std::atomic<double> first_s_ = 0;   // when the first signal came, by the steady clock
  std::atomic<bool> ended_ = false;   // somebody says how the process ends
  std::atomic<bool> leaves_ = false;  // the thread is to return
  std::mutex acting_;
  std::function<void()> act_;
  std::thread thread_;  // last, because it uses the others
};

// Runs `act` on a thread of its own and waits for it for at most `seconds`. If it takes longer, for
// example a write to a pipe that nobody reads, the thread goes on alone. The process should then
// end soon, and `act` must not refer to objects that end before.
void run_within(double seconds, std::function<void()> act);

// Writes the call stack of every thread of this process to the file descriptor: for each its number
// and name, and one line for each function, as "berth(+0x1234)". addr2line(1) turns such an address
// into a line of the sources. A thread that does not answer within half a second, because it sleeps
// inside the kernel, is named without a stack. One call at a time.
void write_thread_stacks(int file_descriptor);

}  // namespace berth
