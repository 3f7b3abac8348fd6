#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "storage/base/error.h"

namespace berth {

// How the workers of a job find each other and notice that one of them is lost. The worker of rank
// 0 leads: the others connect to it, and it says when all are there. From then on each of them
// hears from the other side every second.
struct GatheringOptions {
  int64_t rank = 0, size = 1;
  // The smallest number of workers that begin without the others, once no other worker came for
  // `last_call_s`. If it equals `size`, all workers are needed.
  int64_t least = 1;
  double last_call_s = 30;
  std::string host{};       // host_name() of this worker, for messages
  std::string job{};        // what all workers must agree on
  std::string secret{};     // which they share; empty: whoever knows the job belongs to it
  double patience_s = 600;  // how long a worker waits for the others to start
  double silence_s = 15;    // after which another worker counts as lost
  double hello_s = 10;      // after which a connection that has proved nothing is closed
  // Called while this worker waits for worker 0: whether the job was finished without it, so that
  // nobody will come. Empty: it is not called.
  std::function<bool()> is_finished{};
  // Called once, on a thread of the gathering, where a worker is lost after all had come. The
  // function must end the process.
  std::function<void(const Error& error)> on_lost{};
};

inline constexpr double kAlive_s = 1;  // between two signs of life
inline constexpr int kTick_ms = 200;   // for which a thread waits at once

// The rank of a worker among the workers that have come.
struct GatheredPlace {
  int64_t rank = 0, size = 1;
  std::string attempt{};  // Leader::attempt()
  std::string secret{};   // of the job, by which the leader has proved itself
};

// "worker 2 (berth-2) has ended": who is lost, and why.
Error lost_worker(int64_t rank, const std::string& host, const std::string& why);

}  // namespace berth
