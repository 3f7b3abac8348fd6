#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/distinct_texts.h"
#include "trainer/data/source_order.h"
#include "trainer/model/batch.h"

namespace berth {

// Fills `order` with a permutation of 0 .. size-1 that depends only on the other arguments. It is
// the Fisher-Yates shuffle in Durstenfeld's form (1964), with random numbers of Philox.
void permute(int64_t size, uint64_t seed, int64_t epoch, uint32_t stream,
             std::vector<uint32_t>& order);

// Where training stands in its data. A checkpoint that holds it continues in the same order.
struct DataCursor {
  int64_t epoch = 0;  // finished passes over the data
  int64_t block = 0;  // finished blocks of this pass
  int64_t index = 0;  // rows of this block that were handed out
  bool operator==(const DataCursor&) const = default;
};

// The order of rows. Each epoch permutes the runs of neighbouring rows, makes a block of every
// `runs_of_block` runs, and permutes the rows inside each block. Both permutations depend only on
// (seed, epoch, block). Three numbers therefore identify a place, and data larger than memory can
// be read one block at a time. Not thread-safe.
class Sampler {
 public:
  // `distinct`, which may be null, then reorders the rows of each block, which is one run.
  // Borrowed.
  Sampler(int64_t rows, ShuffledRuns runs, uint64_t seed, DistinctTexts* distinct = nullptr);
  // The order of several sources: each update is a block.
  explicit Sampler(SourceOrder sources);

  // Returns the row at `cursor` and moves the cursor to the next one. Behind the last row of an
  // epoch is the first of the next epoch.
  int64_t next(DataCursor& cursor);

  // Where each update is a block, which has rows of one source: their order. Else null.
  SourceOrder* sources() { return sources_ ? &*sources_ : nullptr; }

  // Whether the data have a row at `cursor`. The other functions need one that they have.
  bool holds(const DataCursor& cursor);

  // The number of passes over the data up to `cursor`. A part of a pass is counted by its rows.
  double epochs_until(const DataCursor& cursor);

 private:
  void order_runs(int64_t epoch);
  int64_t rows_before(int64_t block) const;  // of the epoch whose runs are in order
  int64_t size_of(int64_t block) const { return rows_before(block + 1) - rows_before(block); }
  int64_t row_of(const DataCursor& cursor);

  int64_t rows_;
  ShuffledRuns sizes_;
  int64_t runs_, blocks_;
  uint64_t seed_;
  DistinctTexts* distinct_;
  int64_t runs_epoch_ = -1, rows_epoch_ = -1, rows_block_ = -1;
  int64_t last_run_at_ = 0;  // the place of the last run, which may have fewer rows
  std::vector<uint32_t> order_of_runs_, order_of_rows_;
  std::vector<uint32_t> rows_of_block_;  // where a block has several runs
  std::optional<SourceOrder> sources_{};
};

// Lays the examples `indices` of `data` end to end, in that order. The batch has labels where the
// data set has them. Where the data set is masked, `round` says with which masks, and an example's
// index is the number of its sequence. Throws what Dataset::features() throws.
PackedBatch pack(Dataset& data, std::span<const int64_t> indices,
                 const MaskingRound& round = MaskingRound::of_evaluation());

// The features at `index` of a masked data set in `round`, with the tokens that are masked then.
Features masked_features(Dataset& data, int64_t index, const MaskingRound& round);

// The input of one update.
struct UpdateBatch {
  std::vector<PackedBatch> micro_batches{};  // of this rank's share of the update; may be empty
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
  // largest share has as few tokens as is possible. A share may be empty. For tasks that compare
  // texts, each rank has a share of every micro-batch, whose examples are the ones of a single
  // rank.
  int64_t rank = 0, ranks = 1;
  uint64_t seed = 42;
  // Leaves out the last update of an epoch where it has fewer examples than batch_size and fewer
  // tokens than the budget. The only update of an epoch is kept.
  bool drop_remainder = false;
  SourceMix source_mix = SourceMix::kProportional;  // where the data set has several sources
  // Whether an update holds each text once; see DistinctTexts. It is of one block then.
  bool keeps_texts_apart = false;
  // In the order of the data. The examples are left out of later epochs, too.
  std::vector<SkippedData> skipped{};
};

// What a Sampler needs to know of a data set.
struct OrderedRows {
  int64_t rows = 0;
  ShuffledRuns runs{};
  std::vector<RowSource> sources{};  // empty: there is one
};
OrderedRows ordered_rows(const Dataset& data);

// The order of the rows of updates with these options. `distinct` may be null; it is borrowed.
Sampler make_sampler(const OrderedRows& rows, const BatchOptions& options,
                     DistinctTexts* distinct = nullptr);

// Cuts a data set into updates and shuffles it anew every epoch. An update depends on its cursor
// and the options alone, so a resumed job makes the same ones. Used by one thread at a time.
class Batcher {
 public:
  // `data` is not empty and outlives this.
  Batcher(const BatchOptions& options, Dataset& data);

  // The update that begins at `cursor`. An update never spans two epochs. Throws what
  // Dataset::features() throws.
  UpdateBatch next(DataCursor cursor);

  // The updates of an epoch.
  struct EpochCount {
    int64_t updates = 0;
    int64_t short_updates = 0;   // with fewer examples than batch_size, besides the last one
    int64_t repeating_rows = 0;  // that share a text with another row, where texts are kept apart
  };
  // Counts them, if nothing is skipped. With a token budget, or where texts are kept apart, each
  // epoch has a number of its own. Counting then asks for the length, or the texts, of every
  // example.
  EpochCount count(int64_t epoch);

 private:
  // The examples of one update. All belong to one epoch.
  struct Selection {
    std::vector<int64_t> indices{};
    int64_t tokens = 0;  // counted only where there is a budget
    DataCursor begin{}, end{}, after{};
    int64_t epoch = 0;
    int64_t repeating_rows = 0;  // as in EpochCount
  };
  Selection select(DataCursor cursor);
  void find_skipped();
  bool is_skipped(int64_t index, int64_t epoch) const;
  DataCursor behind_skipped(DataCursor cursor) const;
  Selection collect(DataCursor cursor);
  bool is_remainder(const Selection& selection) const;
  std::span<const int64_t> share_of(std::span<const int64_t> indices);
  std::vector<size_t> cuts_of(std::span<const int64_t> indices, bool by_tokens);
  std::vector<std::span<const int64_t>> parts_of(std::span<const int64_t> indices);

  BatchOptions options_;
  Dataset& data_;
  std::optional<DistinctTexts> distinct_;  // where texts are kept apart
  Sampler sampler_;
  std::map<int64_t, int64_t> skipped_;  // example to the epoch in which it was skipped
};

// Prepares updates ahead of training on a thread of its own. Until this is destroyed, only that
// thread may use `batcher` and the data set behind it. next() is called by one thread.
class Prefetcher {
 public:
  static constexpr size_t kDepth = 4;

  // Prepares `updates` updates, the first one at `start`. At most `depth` of them wait for next().
  Prefetcher(Batcher& batcher, DataCursor start, int64_t updates, size_t depth = kDepth);
  ~Prefetcher() = default;
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Moves the next update out, and waits for it if need be; false after the last one. Rethrows what
  // the thread threw.
  bool next(UpdateBatch& update);

 private:
  void produce(const std::stop_token& stop, DataCursor cursor, int64_t updates);

  Batcher& batcher_;
  const size_t depth_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<UpdateBatch> waiting_;
  bool finished_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // the last member, so that it is joined before what it uses is destroyed
};

}  // namespace berth
