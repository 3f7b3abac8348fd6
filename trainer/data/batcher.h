#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/sampler.h"
#include "trainer/model/batch.h"

namespace berth {

// Examples `indices` of `data` laid end to end, in that order.
PackedBatch pack(Dataset& data, std::span<const int64_t> indices);

// One update's input, where its examples lie in the order of the data, and where the next one
// begins: behind what is left out of the epoch, if anything is.
struct UpdateBatch {
  std::vector<PackedBatch> micro_batches{};
  int64_t examples = 0, tokens = 0;
  DataCursor begin{}, end{}, after{};
};

// Data that is left out: from where an update would begin to where another would.
struct SkippedData {
  DataCursor from{}, to{};
  bool operator==(const SkippedData&) const = default;
};

struct BatchOptions {
  int64_t batch_size = 8;     // examples an update; an epoch's last may have fewer
  int64_t token_budget = 0;   // tokens an update at most, of at least one example; 0: any number
  int64_t micro_batches = 1;  // in how many nearly equal parts it is cut
  uint64_t seed = 42;
  // An epoch's last update is left out where it has fewer examples, and fewer tokens than the
  // budget, unless it is the only one.
  bool drop_remainder = false;
  // In the order of the data; their examples are left out of later epochs, too.
  std::vector<SkippedData> skipped{};
};

// Cuts a data set, shuffled anew every epoch, into updates.
class Batcher {
 public:
  // `data` is not empty and outlives this.
  Batcher(const BatchOptions& options, Dataset& data);

  // The update at `cursor`. An update never spans two epochs.
  UpdateBatch next(DataCursor cursor);

  // How many updates an epoch has, nothing skipped. Of a budget every epoch has its own number,
  // and every example's length is asked for.
  int64_t updates_of(int64_t epoch);

 private:
  // The examples of an update, all of one epoch.
  struct Selection {
    std::vector<int64_t> indices{};
    int64_t tokens = 0;  // with a budget
    DataCursor begin{}, end{}, after{};
    int64_t epoch = 0;
  };
  Selection select(DataCursor cursor);
  void find_skipped();
  bool is_skipped(int64_t index, int64_t epoch) const;
  DataCursor behind_skipped(DataCursor cursor) const;
  Selection collect(DataCursor cursor);
  bool is_remainder(const Selection& selection) const;
  std::vector<size_t> cuts_of(const std::vector<int64_t>& indices);

  BatchOptions options_;
  Dataset& data_;
  Sampler sampler_;
  std::map<int64_t, int64_t> skipped_;  // examples, and the epoch that they were skipped in
};

}  // namespace berth
