#include "trainer/xla/pjrt/deadline.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace berth {
namespace {

struct Outcome {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::exception_ptr failure;
};

// exit() calls this before the destructors of static objects, with the process's exit code.
void end_at_once(int status, void*) {
  std::fflush(nullptr);
  ::_exit(status);
}

}  // namespace

void run_within(double deadline_s, std::function<void()> work, const std::function<void()>& late) {
  // Shared, because the thread that is left behind writes to it after this function has thrown.
  const auto outcome = std::make_shared<Outcome>();
  std::thread thread([outcome, work = std::move(work)] {
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(outcome->mutex);
    outcome->failure = failure;
    outcome->is_done = true;
    outcome->changed.notify_one();
  });

  std::unique_lock lock(outcome->mutex);
  const auto limit = std::chrono::duration<double>(deadline_s);
  if (outcome->changed.wait_for(lock, limit, [&] { return outcome->is_done; })) {
    lock.unlock();
    thread.join();
    if (outcome->failure) std::rethrow_exception(outcome->failure);
    return;
  }
  lock.unlock();
  thread.detach();
  ::on_exit(end_at_once, nullptr);
  late();
}

}  // namespace berth
