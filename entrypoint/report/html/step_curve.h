#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "storage/base/json.h"

namespace berth {

// What happened in some successive updates.
struct StepBucket {
  int64_t first = 0, last = 0;  // the updates, numbered from 1
  int64_t updates = 0;  // that were added: fewer than last - first + 1 where some are missing
  double loss_sum = 0, least_loss = 0, most_loss = 0;  // of the updates' mean losses
  double learning_rate = 0;                            // of the last one
  double examples = 0, tokens = 0, seconds = 0;        // sums

  double loss() const { return loss_sum / static_cast<double>(updates); }
};

// The updates of a job, however many, in at most kMost buckets of equal width. When they are full,
// each pair becomes one bucket. Peaks stay visible. Not thread-safe.
class StepCurve {
 public:
  static constexpr size_t kMost = 800;

  struct Update {
    int64_t step = 0;  // from 1
    double loss = 0, learning_rate = 0;
    double examples = 0, tokens = 0, seconds = 0;
  };
  // Adds an update. Ignores an update that is not later than the last one: a job that went back to
  // a checkpoint computes the same updates again. Also ignores an update whose numbers are not
  // finite.
  void add(const Update& update);
  // Forgets the updates after `step`. A bucket with updates on both sides stays whole.
  void forget_after(int64_t step);

  const std::vector<StepBucket>& buckets() const { return buckets_; }
  int64_t width() const { return width_; }  // of a bucket, in updates

  OrderedJson to_json() const;
  // A curve from to_json()'s value. Any other value gives an empty curve.
  static StepCurve from_json(const Json& value);

 private:
  void widen();

  int64_t width_ = 1;
  std::vector<StepBucket> buckets_;
};

}  // namespace berth
