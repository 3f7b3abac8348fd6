#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "storage/base/clock.h"
#include "storage/base/error.h"
#include "storage/storage.h"

namespace berth {

struct RetryOptions {
  double deadline_s = 900;      // time without progress after which the last error is final
  double first_pause_s = 1;     // doubles with every failure,
  double longest_pause_s = 32;  // up to this; each pause is drawn uniformly from 0 to the result
  int max_attempts = 64;        // attempts without progress
  std::function<bool()> gives_up{};  // polled while waiting; true stops with kStopped

  // Tests replace these three.
  Clock now = steady_clock_s;
  Sleep sleep = sleep_s;
  std::function<double()> random = random_fraction;  // in [0, 1)

  static double random_fraction();
};

// Counts the attempts of one operation and waits between them: exponential back-off with full
// jitter (Brooker 2015, "Exponential backoff and jitter"). Honors Retry-After up to 60 s. Not
// thread-safe.
class Retry {
 public:
  // `what` names the operation in the log, for example "read gs://b/o". `options` must outlive
  // this.
  Retry(const RetryOptions& options, std::string what, std::stop_token stop = {});

  // To be called when data arrived. The deadline and the attempts start again.
  void progress();

  // To be called when the caller asks for more data. The time before does not count, because a
  // caller may compute for longer than the deadline between two reads.
  void resume();

  // Call this after a failure. If another attempt is due, waits for it and returns. If `error` is
  // not kUnavailable, rethrows it. If the deadline or the attempts are used up, rethrows it with
  // the number of attempts. Throws kStopped soon after `stop` is requested. Logs one debug line per
  // failure.
  void wait(const Error& error);

 private:
  const RetryOptions& options_;
  const std::string what_;
  const std::stop_token stop_;
  int failures_ = 0;
  double since_s_;
};

// Retries every verb of `inner`. Beside this layer, only hub storage uses Retry. After a failure a
// source is reopened at the byte it had reached, pinned to the same generation. A sink is continued
// as ByteSink's contract says. Two writes of one object are at least one second apart, because
// Cloud Storage rejects more.
std::unique_ptr<Storage> make_retrying_storage(std::unique_ptr<Storage> inner,
                                               const RetryOptions& options);
std::unique_ptr<JoiningStorage> make_retrying_storage(std::unique_ptr<JoiningStorage> inner,
                                                      const RetryOptions& options);

}  // namespace berth
