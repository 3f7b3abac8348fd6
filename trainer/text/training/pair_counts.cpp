#include "trainer/text/training/pair_counts.h"

#include <algorithm>

namespace berth {

size_t PairCounts::hash(int32_t left, int32_t right) {
  const uint64_t pair =
      static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  const uint64_t mixed = pair * 0x9E3779B97F4A7C15;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

uint32_t PairCounts::number(int32_t left, int32_t right) {
  if (2 * (pairs_.size() + 1) > slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = hash(left, right) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Pair& pair = pairs_[slots_[slot] - 1];
    if (pair.left == left && pair.right == right) return slots_[slot] - 1;
  }
  pairs_.push_back({left, right});
  slots_[slot] = static_cast<uint32_t>(pairs_.size());
  return slots_[slot] - 1;
}

void PairCounts::grow() {
  slots_.assign(std::max<size_t>(1024, 2 * slots_.size()), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    size_t slot = hash(pairs_[i].left, pairs_[i].right) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace berth
