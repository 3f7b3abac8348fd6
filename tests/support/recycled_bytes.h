#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/shared_bytes.h"

namespace berth {

// A pool of large strings whose memory is reused. A virtual machine needs more time for pages that
// a process has never touched than for a transfer on loopback, and a benchmark would measure that
// time. Thread-safe.
class RecycledBytes : public std::enable_shared_from_this<RecycledBytes> {
 public:
  // Grows the capacity of `bytes` to `size` and keeps its content. Strings of 64 MiB get a capacity
  // of 2 GiB, so that they seldom move; untouched pages cost nothing.
  void make_room(std::string& bytes, size_t size) {
    if (size <= bytes.capacity() || size < kSmallest) return;
    std::string wider = with_room(size);
    wider.assign(bytes);
    give_back(std::exchange(bytes, std::move(wider)));
  }

  void give_back(std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes.capacity() >= kSmallest && free_.size() < kMost) free_.push_back(std::move(bytes));
  }

  // A string of `size` bytes, which the caller overwrites.
  std::string take(size_t size) {
    std::string bytes = size < kSmallest ? "" : with_room(size);
    bytes.resize(size);  // clears only the bytes beyond its former size
    return bytes;
  }

  // Shares `bytes`. The memory returns to the pool when the last user is gone.
  SharedBytes share(std::string bytes) {
    auto* const owned = new std::string(std::move(bytes));
    return SharedBytes(std::shared_ptr<const std::string>(
        owned, [pool = shared_from_this(), owned](const std::string*) {
          pool->give_back(std::move(*owned));
          delete owned;
        }));
  }

 private:
  static constexpr size_t kSmallest = size_t{1} << 20;
  static constexpr size_t kSlack = size_t{4}
                                   << 10;  // lets the string also hold a slightly longer one
  static constexpr size_t kLarge = size_t{64} << 20, kRoom = size_t{2} << 30;
  static constexpr size_t kMost = 2000;

  std::string with_room(size_t size) {
    const std::lock_guard lock(mutex_);
    auto best = free_.end();
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->capacity() < size) continue;
      if (best == free_.end() || at->capacity() < best->capacity()) best = at;
    }
    std::string bytes;
    if (best != free_.end()) {
      bytes = std::move(*best);
      free_.erase(best);
    } else {
      bytes.reserve(size >= kLarge ? std::max(size, kRoom) : size + kSlack);
    }
    return bytes;
  }

  std::mutex mutex_;
  std::vector<std::string> free_;
};

}  // namespace berth
