#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace berth {

// Buffers that are passed from one upload to the next while any upload is running. On a fast
// network, mapping the pages of a new buffer takes as long as sending it. Thread-safe.
class SpareBuffers {
 public:
  // Returns an empty buffer with room for `capacity` bytes.
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
