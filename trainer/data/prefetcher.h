#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "trainer/data/batcher.h"

namespace berth {

// Prepares updates ahead of training on a thread of its own. Until this is destroyed, only that
// thread may use `batcher` and the data set behind it. next() is called by one thread.
class Prefetcher {
 public:
  static constexpr size_t kDepth = 4;

  // Prepares `updates` updates, the first one at `start`. At most `depth` of them wait for next().
  Prefetcher(Batcher& batcher, DataCursor start, int64_t updates, size_t depth = kDepth);
  ~Prefetcher() = default;
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Moves the next update out, and waits for it if need be; false after the last one. Rethrows what
  // the thread threw.
  bool next(UpdateBatch& update);

 private:
  void produce(const std::stop_token& stop, DataCursor cursor, int64_t updates);

  Batcher& batcher_;
  const size_t depth_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<UpdateBatch> waiting_;
  bool finished_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // the last member, so that it is joined before what it uses is destroyed
};

}  // namespace berth
