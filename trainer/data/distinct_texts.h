#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data/dataset.h"

namespace berth {

// How rows are ordered so that no batch holds a text twice, as BatchSamplers.NO_DUPLICATES of
// sentence-transformers does. A batch takes the first rows of the order that share no text with it.
// The rows that it passes over come first in the next one. Where all rows that are left share a
// text with the batch, it stays smaller. All texts of a row count, whatever their columns. The same
// text in one row is no repetition.
//
// An order is made for one block of rows at a time. Its batches need no memory of their own: a
// batch ends where it is full, or before the first row that shares a text with it. Borrows the data
// set. Not thread-safe.
class DistinctTexts {
 public:
  // The largest batch, as in BatchOptions.
  DistinctTexts(Dataset& data, int64_t batch_size, int64_t token_budget);

  // Reorders `order`, which are places of rows in the block that begins at example `first`. Reads
  // the block's texts, unless it read them last.
  void arrange(int64_t first, std::vector<uint32_t>& order);

  // The batch that is being made, after arrange(). Its rows are of the block that was arranged
  // last.
  void begin_batch() { ++batch_; }
  bool may_join(int64_t index) const;
  void join(int64_t index);

  // Whether the row shares a text with another row of the block.
  bool repeats(int64_t index) const {
    return !repeated(static_cast<size_t>(index - first_)).empty();
  }

 private:
  class Arrangement;

  void read(int64_t first, size_t count);
  // The texts of a row that other rows of the block have, too, as numbers from 0.
  std::span<const uint32_t> repeated(size_t place) const;

  Dataset& data_;
  const int64_t batch_size_, token_budget_;
  int64_t first_ = -1;            // of the block
  std::vector<uint32_t> begins_;  // of each row in repeated_, and the end
  std::vector<uint32_t> repeated_;
  std::vector<uint64_t> batch_of_;  // of each repeated text: the last batch that has it
  uint64_t batch_ = 0;
};

}  // namespace berth
