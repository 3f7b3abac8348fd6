#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/sampler.h"
#include "trainer/model/batch.h"

namespace berth {

// Examples `indices` of `data` laid end to end, in that order.
PackedBatch pack(Dataset& data, std::span<const int64_t> indices);

// One update's input, and where the data stands after it.
struct UpdateBatch {
  std::vector<PackedBatch> micro_batches;
  int64_t examples = 0, tokens = 0;
  DataCursor before{}, after{};
};

// Data that is left out: from where an update would begin to where another would.
struct SkippedData {
  DataCursor from{}, to{};
  bool operator==(const SkippedData&) const = default;
};

struct BatchOptions {
  int64_t batch_size = 8;     // examples an update; an epoch's last may have fewer
  int64_t micro_batches = 1;  // in how many nearly equal parts it is cut
  uint64_t seed = 42;
  bool drop_remainder = false;         // an epoch's last update is left out where it has fewer
  std::vector<SkippedData> skipped{};  // in the order of the data
};

// Cuts a data set, shuffled anew every epoch, into updates.
class Batcher {
 public:
  // `data` is not empty and outlives this.
  Batcher(const BatchOptions& options, Dataset& data);

  // The update at `cursor`. An update never spans two epochs.
  UpdateBatch next(DataCursor cursor);

 private:
  BatchOptions options_;
  Dataset& data_;
  Sampler sampler_;
};

}  // namespace berth
