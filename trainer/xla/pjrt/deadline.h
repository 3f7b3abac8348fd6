#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "storage/base/error.h"

namespace berth {

// From this moment on, exit() runs no destructors of static objects and does not wait for locks of
// the dynamic loader. Standard output and error are still flushed.
void end_at_once_on_exit();

// Runs `work` on a thread of its own, waits for it at most `deadline_s` seconds, and returns what
// it returns or throws what it throws. Throws `late` after the deadline.
//
// A thread cannot be ended from outside, so after the deadline it is left behind, and `work` must
// own all that it uses. What it returns in the end is destroyed. The process is expected to end
// then: the thread may hold locks and use static objects, hence end_at_once_on_exit().
template <typename T>
T run_within(double deadline_s, std::function<T()> work, const Error& late) {
  std::packaged_task<T()> task(std::move(work));
  std::future<T> result = task.get_future();
  std::thread thread(std::move(task));
  if (result.wait_for(std::chrono::duration<double>(deadline_s)) == std::future_status::ready) {
    thread.join();
    return result.get();
  }
  thread.detach();
  end_at_once_on_exit();
  throw late;
}

}  // namespace berth
