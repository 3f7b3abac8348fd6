#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace berth {

class Profiler;

// A pool of threads that splits an index range into fixed, contiguous, nearly equal parts. Part i
// always runs on thread i, so results may depend on the number of threads but never on timing. Only
// one thread may call the pool at a time; the caller itself runs part 0. If parts throw,
// parallel_for() rethrows the exception of the lowest-numbered one. A nested call from inside a
// part runs entirely on that part's thread.
class ThreadPool {
 public:
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls fn(begin, end, thread) once for each non-empty part of [0, count). `grain` is the
  // smallest number of indices that is worth a thread; if `count` is small, fewer threads take
  // part.
  using Range = std::function<void(int64_t begin, int64_t end, int thread)>;
  void parallel_for(int64_t count, int64_t grain, const Range& fn);

  // The profiler that records each thread's work while it is on; null: there is none. It is for as
  // many threads as this pool has. It must outlive the pool or be removed first.
  void set_profiler(Profiler* profiler);
  Profiler* profiler() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The number of threads that this process can run at once: its CPU affinity, or its cgroup's CPU
// quota (v1 and v2) rounded up if that is smaller. At least 1.
int available_threads();

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
