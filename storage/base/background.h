#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace berth {

// One thread that does what it is given, in order. Used from one other thread.
class Background {
 public:
  Background();
  ~Background();  // when all is done
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Returns at once. What `work` throws is kept for wait(); work that follows is done all the same.
  void submit(std::function<void()> work);

  // Whether all is done, or will be within so many seconds.
  bool idle(double within_s = 0);

  // Until all is done. Throws what was thrown first since the last wait().
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool busy_ = false, ends_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // last, so that it ends before what it uses
};

}  // namespace berth
