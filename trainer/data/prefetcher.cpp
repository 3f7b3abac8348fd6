#include "trainer/data/prefetcher.h"

#include <utility>

namespace berth {

Prefetcher::Prefetcher(Batcher& batcher, DataCursor start, int64_t updates, size_t depth)
    : batcher_(batcher),
      depth_(depth),
      thread_(
          [this, start, updates](const std::stop_token& stop) { produce(stop, start, updates); }) {}

bool Prefetcher::next(UpdateBatch& update) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_.empty() || finished_; });
  if (waiting_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }
  update = std::move(waiting_.front());
  waiting_.pop_front();
  changed_.notify_all();
  return true;
}

void Prefetcher::produce(const std::stop_token& stop, DataCursor cursor, int64_t updates) {
  std::exception_ptr failure;
  try {
    for (int64_t i = 0; i < updates && !stop.stop_requested(); ++i) {
      UpdateBatch update = batcher_.next(cursor);
      cursor = update.after;
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return waiting_.size() < depth_; })) break;
      waiting_.push_back(std::move(update));
      changed_.notify_all();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  finished_ = true;
  changed_.notify_all();
}

}  // namespace berth
