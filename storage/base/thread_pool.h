#pragma once

#include <cstdint>
#include <functional>
#include <memory>

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

}  // namespace berth
