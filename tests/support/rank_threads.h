#pragma once

#include <condition_variable>
#include <csignal>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "trainer/distributed/gloo_communicator.h"

namespace berth {

// A store of this process.
class StoreInMemory final : public KeyValueStore {
 public:
  void set(const std::string& key, Bytes value) override {
    const std::scoped_lock lock(mutex_);
    values_[key].assign(value.begin(), value.end());
    changed_.notify_all();
  }

  std::vector<std::byte> get(const std::string& key) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return values_.contains(key); });
    return values_[key];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::byte>> values_;
};

// Runs `each` on `size` threads, which are the ranks of one job and are connected by Gloo over
// loopback. Rethrows what the lowest rank threw.
inline void run_ranks(int size, const std::function<void(Communicator& ranks)>& each) {
  std::signal(SIGPIPE, SIG_IGN);  // as connect_ranks() asks
  StoreInMemory store;
  std::vector<std::exception_ptr> failures(static_cast<size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          const auto ranks = connect_ranks({.rank = rank, .size = size}, store);
          each(*ranks);
          any_rank(*ranks, false);  // nobody leaves while others still receive
        } catch (...) {
          failures[static_cast<size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace berth
