#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace berth {

// Buffers that go from one upload to the next while any is under way: the pages of a fresh one cost
// as much as its transfer on a fast network. Thread-safe.
class SpareBuffers {
 public:
  // Empty, with room for `capacity` bytes.
  std::vector<std::byte> take(size_t capacity) {
    std::vector<std::byte> buffer;
    {
      const std::lock_guard lock(mutex_);
      ++taken_;
      if (!spare_.empty()) {
        buffer = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    buffer.clear();
    buffer.reserve(capacity);
    return buffer;
  }

  void give_back(std::vector<std::byte> buffer) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(buffer));
    if (--taken_ == 0) spare_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<std::byte>> spare_;
  size_t taken_ = 0;
};

}  // namespace berth
