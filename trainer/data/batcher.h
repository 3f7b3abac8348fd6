#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/sampler.h"
#include "trainer/model/batch.h"

namespace berth {

// Lays the examples `indices` of `data` end to end, in that order. The batch has labels where the
// data set has them. Where the data set is masked, `round` says with which masks, and an example's
// index is the number of its sequence. Throws what Dataset::features() throws.
PackedBatch pack(Dataset& data, std::span<const int64_t> indices,
                 const MaskingRound& round = MaskingRound::of_evaluation());

// The input of one update.
struct UpdateBatch {
  std::vector<PackedBatch> micro_batches{};  // of this rank's share of the update
  int64_t examples = 0, tokens = 0;          // of the whole update
  // The examples lie between `begin` and `end` in the order of the data. The next update begins at
  // `after`, which is behind `end` where the rest of the epoch is left out.
  DataCursor begin{}, end{}, after{};
};

// Data that training leaves out: what lies between two cursors. Both are places where an update
// begins.
struct SkippedData {
  DataCursor from{}, to{};
  bool operator==(const SkippedData&) const = default;
};

struct BatchOptions {
  int64_t batch_size = 8;     // examples in an update; the last update of an epoch may have fewer
  int64_t token_budget = 0;   // most tokens in an update of several examples; 0: no limit
  int64_t micro_batches = 1;  // the number of nearly equal parts that a share is cut into
  // Each of several ranks trains a share of every update: neighbouring examples, so that the
  // largest share has as few tokens as is possible. A share may be empty.
  int64_t rank = 0, ranks = 1;
  uint64_t seed = 42;
  // Leaves out the last update of an epoch where it has fewer examples than batch_size and fewer
  // tokens than the budget. The only update of an epoch is kept.
  bool drop_remainder = false;
  // In the order of the data. The examples are left out of later epochs, too.
  std::vector<SkippedData> skipped{};
};

// Cuts a data set into updates and shuffles it anew every epoch. An update depends on its cursor
// and the options alone, so a resumed job makes the same ones. Used by one thread at a time.
class Batcher {
 public:
  // `data` is not empty and outlives this.
  Batcher(const BatchOptions& options, Dataset& data);

  // The update that begins at `cursor`. An update never spans two epochs. Throws what
  // Dataset::features() throws.
  UpdateBatch next(DataCursor cursor);

  // The number of updates in an epoch, if nothing is skipped. With a token budget each epoch has a
  // number of its own, and counting asks for the length of every example.
  int64_t updates_of(int64_t epoch);

 private:
  // The examples of one update. All belong to one epoch.
  struct Selection {
    std::vector<int64_t> indices{};
    int64_t tokens = 0;  // counted only where there is a budget
    DataCursor begin{}, end{}, after{};
    int64_t epoch = 0;
  };
  Selection select(DataCursor cursor);
  void find_skipped();
  bool is_skipped(int64_t index, int64_t epoch) const;
  DataCursor behind_skipped(DataCursor cursor) const;
  Selection collect(DataCursor cursor);
  bool is_remainder(const Selection& selection) const;
  std::span<const int64_t> share_of(std::span<const int64_t> indices);
  std::vector<size_t> cuts_of(std::span<const int64_t> indices);

  BatchOptions options_;
  Dataset& data_;
  Sampler sampler_;
  std::map<int64_t, int64_t> skipped_;  // example to the epoch in which it was skipped
};

}  // namespace berth
