#include "storage/retry.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr double kLongestRetryAfter_s = 60;
constexpr double kLongestNap_s = 0.5;  // between two looks at the stop token

}  // namespace

double RetryOptions::random_fraction() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

Retry::Retry(const RetryOptions& options, std::string what, std::stop_token stop)
    : options_(options), what_(std::move(what)), stop_(std::move(stop)), since_s_(options.now()) {}

void Retry::progress() {
  failures_ = 0;
  since_s_ = options_.now();
}

void Retry::resume() { since_s_ = options_.now(); }

void Retry::wait(const Error& error) {
  if (error.code() != Code::kUnavailable) throw error;
  ++failures_;
  const double elapsed_s = options_.now() - since_s_;
  const double most_s = std::min(options_.first_pause_s * std::exp2(std::min(failures_ - 1, 30)),
                                 options_.longest_pause_s);
  const double pause_s =
      std::max(most_s * options_.random(), std::min(error.pause_s(), kLongestRetryAfter_s));
  const bool is_last =
      failures_ >= options_.max_attempts || elapsed_s + pause_s > options_.deadline_s;
  log_debug(
      cat(what_, ": attempt ", failures_, " failed: ", error.what(),
          is_last ? "; giving up" : cat("; again in ", std::round(pause_s * 100) / 100, " s")));
  if (is_last) {
    throw Error(error.code(),
                cat(error.problem(), " (", failures_, failures_ == 1 ? " attempt" : " attempts",
                    " without progress in ", std::llround(elapsed_s), " s)"),
                error.where(), error.hint());
  }
  for (double left_s = pause_s; left_s > 0; left_s -= kLongestNap_s) {
    if (stop_.stop_requested() || (options_.gives_up && options_.gives_up()))
      throw Error(Code::kStopped, "stopped between two attempts", error.where());
    options_.sleep(std::min(left_s, kLongestNap_s));
  }
}

}  // namespace berth
