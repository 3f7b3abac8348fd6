#pragma once

#include <cstdint>
#include <vector>

namespace berth {

// Where training stands in its data; all that a checkpoint needs to go on in the same order.
struct DataCursor {
  int64_t epoch = 0;  // passes finished
  int64_t block = 0;  // blocks of this pass finished
  int64_t index = 0;  // rows of this block handed out
  bool operator==(const DataCursor&) const = default;
};

// The order of rows: in each epoch a permutation of blocks of `block_rows` rows, and inside each
// block one of its rows, both by Fisher and Yates with Philox keyed by (seed, epoch, block). So
// a place is three numbers, and data larger than memory is read a block at a time.
class Sampler {
 public:
  Sampler(int64_t rows, int64_t block_rows, uint64_t seed);

  // The row at `cursor`, which moves to the next one (past the last: the next epoch's first).
  int64_t next(DataCursor& cursor);

  // Passes over the data until `cursor`, the parts of one by rows.
  double epochs_until(const DataCursor& cursor);

 private:
  void order_blocks(int64_t epoch);

  int64_t rows_, block_rows_, blocks_;
  uint64_t seed_;
  int64_t blocks_epoch_ = -1, rows_epoch_ = -1, rows_block_ = -1;
  std::vector<uint32_t> order_of_blocks_, order_of_rows_;
};

}  // namespace berth
