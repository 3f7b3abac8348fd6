#include "trainer/data/sampler.h"

#include <algorithm>
#include <cassert>

#include "trainer/data/permutation.h"

namespace berth {
namespace {

constexpr uint32_t kBlocksStream = 0xFFFFFFFF;  // no block has this number

}  // namespace

Sampler::Sampler(int64_t rows, int64_t block_rows, uint64_t seed)
    : rows_(rows),
      block_rows_(block_rows),
      blocks_((rows + block_rows - 1) / block_rows),
      seed_(seed) {
  assert(rows > 0 && block_rows > 0);
}

void Sampler::order_blocks(int64_t epoch) {
  if (blocks_epoch_ == epoch) return;
  permute(blocks_, seed_, epoch, kBlocksStream, order_of_blocks_);
  blocks_epoch_ = epoch;
}

int64_t Sampler::size_of(int64_t block) const {
  return std::min(block_rows_, rows_ - block * block_rows_);
}

bool Sampler::holds(const DataCursor& cursor) {
  if (cursor.epoch < 0 || cursor.block < 0 || cursor.block >= blocks_ || cursor.index < 0) {
    return false;
  }
  order_blocks(cursor.epoch);
  return cursor.index < size_of(order_of_blocks_[static_cast<size_t>(cursor.block)]);
}

double Sampler::epochs_until(const DataCursor& cursor) {
  order_blocks(cursor.epoch);
  int64_t rows = cursor.block * block_rows_ + cursor.index;
  for (int64_t passed = 0; passed < cursor.block; ++passed) {
    const bool is_last = order_of_blocks_[static_cast<size_t>(passed)] == blocks_ - 1;
    if (is_last) rows -= blocks_ * block_rows_ - rows_;  // the last block has fewer rows
  }
  return static_cast<double>(cursor.epoch) + static_cast<double>(rows) / static_cast<double>(rows_);
}

int64_t Sampler::next(DataCursor& cursor) {
  order_blocks(cursor.epoch);
  const int64_t block = order_of_blocks_[static_cast<size_t>(cursor.block)];
  const int64_t size = size_of(block);
  if (rows_epoch_ != cursor.epoch || rows_block_ != block) {
    permute(size, seed_, cursor.epoch, static_cast<uint32_t>(block), order_of_rows_);
    rows_epoch_ = cursor.epoch;
    rows_block_ = block;
  }
  const int64_t row = block * block_rows_ + order_of_rows_[static_cast<size_t>(cursor.index)];
  if (++cursor.index == size) {
    cursor.index = 0;
    if (++cursor.block == blocks_) {
      cursor.block = 0;
      ++cursor.epoch;
    }
  }
  return row;
}

}  // namespace berth
