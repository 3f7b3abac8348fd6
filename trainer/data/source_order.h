#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth {

// One of several sources of rows, which lie one behind the other in a data set.
struct RowSource {
  int64_t rows = 0;
  double weight = 1;  // how often an epoch reads it, if the mix is proportional
};

// How updates alternate between sources, as the MultiDatasetBatchSamplers of sentence-transformers.
enum class SourceMix {
  kProportional,  // an epoch reads each source as often as its weight says, in random order
  kRoundRobin,    // in turn, until one source is read
};

class DistinctTexts;

// The order of rows from several sources. Each update takes rows of one source. A source is
// shuffled anew whenever it was read. An epoch has the same number of updates as every other one.
// The order depends on the arguments alone. So an epoch, an update and a row in it identify a
// place. Not thread-safe.
class SourceOrder {
 public:
  // Each source has rows. With `drop_remainder`, the last rows of a source that fill no update are
  // left out, unless they are all of it. `distinct`, which may be null, reorders each pass over a
  // source, which then may take more updates. Borrowed.
  SourceOrder(std::vector<RowSource> sources, SourceMix mix, int64_t batch_size,
              bool drop_remainder, uint64_t seed, DistinctTexts* distinct = nullptr);

  int64_t updates() const { return static_cast<int64_t>(schedule_.size()); }  // of an epoch
  // The rows of an update, as places in the data set. Valid until the next call.
  std::span<const int64_t> rows(int64_t epoch, int64_t update);
  // Whether the update that rows() gave last ends a pass over its source.
  bool ends_pass() const { return ends_pass_; }
  // The rows that share a text with another row of their source, of the sources that were read.
  int64_t repeating_rows() const;

 private:
  struct Source {
    int64_t first = 0, rows = 0;  // places in the data set
    int64_t chunks = 0;           // full updates that read all of it, and perhaps a last one
    int64_t per_epoch = 0;        // updates of an epoch
    // The pass that `order` is of, and the updates before it. Each update begins at a place of the
    // order; the end stands behind them.
    int64_t pass = -1, before = 0;
    std::vector<uint32_t> order{};
    std::vector<int64_t> begins{};
    int64_t repeating = 0;
  };
  // An update of the epoch: its source, and how many updates of this source come before it.
  struct Turn {
    uint32_t source = 0;
    int64_t before = 0;
  };
  void schedule(int64_t epoch);
  // Makes the order of the pass that holds update number `chunk` of a source.
  void seek(uint32_t number, int64_t chunk);
  void begin_pass(uint32_t number, int64_t pass, int64_t before);
  void cut(Source& source);

  const int64_t batch_size_;
  const SourceMix mix_;
  const bool drops_remainder_;
  const uint64_t seed_;
  DistinctTexts* const distinct_;
  std::vector<Source> sources_;
  std::vector<Turn> schedule_;  // of the epoch `epoch_`
  int64_t epoch_ = -1;
  std::vector<int64_t> rows_;
  bool ends_pass_ = false;
};

}  // namespace berth
