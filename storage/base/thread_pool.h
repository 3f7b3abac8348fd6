#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace berth {

// Threads that split an index range in fixed, contiguous, nearly equal parts: part i always goes to
// thread i, so results depend on the number of threads but never on timing. One caller at a time;
// the caller is thread 0. A function that throws: the first exception (by thread) is rethrown
// from run(). Nested calls from inside a part run on that part's thread alone.
class ThreadPool {
 public:
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // fn(begin, end, thread) once for each non-empty part of [0, count). `grain` is the least number
  // of indices worth a thread of its own: fewer threads take part when count is small.
  using Range = std::function<void(int64_t begin, int64_t end, int thread)>;
  void parallel_for(int64_t count, int64_t grain, const Range& fn);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Threads this process may use at once: the smaller of its CPU affinity and, rounded up, its
// cgroup CPU quota (v1 and v2). At least 1.
int available_threads();

}  // namespace berth
