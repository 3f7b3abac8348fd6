#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace berth {

// One thread that runs the functions given to it, in order. Only one other thread may call it.
class Background {
 public:
  Background();
  ~Background();  // waits until every submitted function has run
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Queues `work` and returns at once. An exception that `work` throws is kept for wait(); the
  // functions queued after it still run.
  void submit(std::function<void()> work);

  // Waits at most `within_s` seconds for the queue to become empty. Returns whether it is.
  bool idle(double within_s = 0);

  // Waits until the queue is empty. Rethrows the first exception that was thrown since the last
  // wait().
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false, ends_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // declared last: it stops before the members it uses are destroyed
};

}  // namespace berth
