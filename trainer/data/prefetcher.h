#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "trainer/data/batcher.h"

namespace berth {

// Makes updates ahead of training, on a thread of its own, which alone uses `batcher` (and the data
// behind it) until this is destroyed.
class Prefetcher {
 public:
  // `updates` of them from `start` on, at most `depth` waiting.
  Prefetcher(Batcher& batcher, DataCursor start, int64_t updates, size_t depth = 4);
  ~Prefetcher() = default;
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // The next update; false after the last. What the thread threw is rethrown here.
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
  std::jthread thread_;  // last: joined before what it uses goes
};

}  // namespace berth
