#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/http/curl_library.h"

namespace berth {

// libcurl's handle of a connection. It runs one request at a time and keeps its connection for the
// next.
struct Multi {
  Multi() : handle(curl_library().multi_init()) {
    if (handle == nullptr) throw Error(Code::kMemory, "libcurl cannot make a handle");
  }
  ~Multi() { curl_library().multi_cleanup(handle); }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  CURLM* handle;
};

// Connections that are not in use. Thread-safe.
class IdleConnections {
 public:
  std::unique_ptr<Multi> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Multi>();
    std::unique_ptr<Multi> multi = std::move(idle_.back());
    idle_.pop_back();
    return multi;
  }

  void give_back(std::unique_ptr<Multi> multi) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleConnections) idle_.push_back(std::move(multi));
  }

 private:
  static constexpr size_t kIdleConnections = 32;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Multi>> idle_;
};

}  // namespace berth
