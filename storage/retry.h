#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "storage/base/clock.h"
#include "storage/base/error.h"

namespace berth {

struct RetryOptions {
  double deadline_s = 900;           // since the last progress; then the last error is final
  double first_pause_s = 1;          // doubles with every failure ...
  double longest_pause_s = 32;       // ... up to this; each pause is drawn evenly from 0 to it
  int max_attempts = 64;             // without progress
  std::function<bool()> gives_up{};  // as HttpClientOptions'

  // Tests pass their own.
  Clock now = steady_clock_s;
  Sleep sleep = sleep_s;
  std::function<double()> random = random_fraction;  // in [0, 1)

  static double random_fraction();
};

// The attempts of one operation: exponential back-off with full jitter (Brooker 2015, "Exponential
// backoff and jitter"), Retry-After honoured up to 60 s. Not thread-safe.
class Retry {
 public:
  // `what` is "read gs://b/o", for the log; `options` outlives it.
  Retry(const RetryOptions& options, std::string what, std::stop_token stop = {});

  // Something new arrived: the budget starts anew.
  void progress();

  // After a failure: waits and returns, or rethrows `error` where it is not kUnavailable or the
  // budget is spent; then it tells the number of attempts. Each failure is one debug line. kStopped
  // soon after `stop` asks for it.
  void wait(const Error& error);

 private:
  const RetryOptions& options_;
  const std::string what_;
  const std::stop_token stop_;
  int failures_ = 0;
  double since_s_;
};

}  // namespace berth
