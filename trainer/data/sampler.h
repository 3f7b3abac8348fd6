#pragma once

#include <cstdint>
#include <vector>

namespace berth {

// Where training stands in its data. A checkpoint that holds it continues in the same order.
struct DataCursor {
  int64_t epoch = 0;  // finished passes over the data
  int64_t block = 0;  // finished blocks of this pass
  int64_t index = 0;  // rows of this block that were handed out
  bool operator==(const DataCursor&) const = default;
};

// The order of rows. Each epoch permutes the blocks of `block_rows` rows, and the rows inside each
// block. Both permutations depend only on (seed, epoch, block). Three numbers therefore identify a
// place, and data larger than memory can be read one block at a time. Not thread-safe.
class Sampler {
 public:
  Sampler(int64_t rows, int64_t block_rows, uint64_t seed);

  // Returns the row at `cursor` and moves the cursor to the next one. Behind the last row of an
  // epoch is the first of the next epoch.
  int64_t next(DataCursor& cursor);

  // Whether the data have a row at `cursor`. The other functions need one that they have.
  bool holds(const DataCursor& cursor);

  // The number of passes over the data up to `cursor`. A part of a pass is counted by its rows.
  double epochs_until(const DataCursor& cursor);

 private:
  void order_blocks(int64_t epoch);
  int64_t size_of(int64_t block) const;

  int64_t rows_, block_rows_, blocks_;
  uint64_t seed_;
  int64_t blocks_epoch_ = -1, rows_epoch_ = -1, rows_block_ = -1;
  std::vector<uint32_t> order_of_blocks_, order_of_rows_;
};

}  // namespace berth
