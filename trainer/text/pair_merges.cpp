#include "trainer/text/pair_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>
#include <utility>

namespace berth {

namespace {

constexpr size_t kShortWord = 48;

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

Symbol joined(const Symbol& left, const Symbol& right, int32_t merged) {
  return {.id = merged, .span = {left.span.begin, right.span.end}};
}

}  // namespace

void PairMerges::reserve(size_t count) { grow(std::bit_ceil(2 * count + 2)); }

size_t PairMerges::slot_of(uint64_t pair) const {
  uint64_t hash = pair * 0x9E3779B97F4A7C15;
  size_t i = (hash ^ hash >> 32) & (slots_.size() - 1);
  while (slots_[i].pair != pair && slots_[i].pair != UINT64_MAX) i = (i + 1) & (slots_.size() - 1);
  return i;
}

void PairMerges::grow(size_t slots) {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  for (const Slot& slot : old) {
    if (slot.pair != UINT64_MAX) slots_[slot_of(slot.pair)] = slot;
  }
}

void PairMerges::insert(int32_t left, int32_t right, uint32_t rank, int32_t merged) {
  if (2 * (size_ + 1) > slots_.size()) grow(std::bit_ceil(4 * size_ + 8));
  Slot& slot = slots_[slot_of(pair_of(left, right))];
  if (slot.pair != UINT64_MAX) return;
  slot = {pair_of(left, right), {rank, merged}};
  ++size_;
}

PairMerges::Merge PairMerges::find(int32_t left, int32_t right) const {
  if (slots_.empty() || left < 0 || right < 0) return {};
  return slots_[slot_of(pair_of(left, right))].merge;
}

PairMerges::Merge PairMerges::between(const Symbol& left, const Symbol& right,
                                      std::vector<Candidate>* candidates) const {
  if (left.frozen || right.frozen) return {};
  const Merge merge = find(left.id, right.id);
  if (candidates != nullptr && merge.merged >= 0) {
    candidates->push_back({merge.merged, left.span, right.span});
  }
  return merge;
}

void PairMerges::apply(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortWord) {
    scan(symbols, candidates);
  } else {
    merge_by_heap(symbols, candidates);
  }
}

void PairMerges::scan(std::vector<Symbol>& symbols, std::vector<Candidate>* candidates) const {
  std::array<Merge, kShortWord> merges;  // of each symbol and the next
  size_t count = symbols.size() - 1;
  for (size_t i = 0; i < count; ++i) {
    merges[i] = between(symbols[i], symbols[i + 1], candidates);
  }
  while (count > 0) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == UINT32_MAX) break;
    symbols[best] = joined(symbols[best], symbols[best + 1], merges[best].merged);
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2, symbols.end(),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    symbols.pop_back();
    std::copy(merges.begin() + best + 1, merges.begin() + count, merges.begin() + best);
    --count;
    if (best > 0) merges[best - 1] = between(symbols[best - 1], symbols[best], candidates);
    if (best < count) merges[best] = between(symbols[best], symbols[best + 1], candidates);
  }
}

void PairMerges::merge_by_heap(std::vector<Symbol>& symbols,
                               std::vector<Candidate>* candidates) const {
  struct Waiting {
    uint32_t rank;
    uint32_t place;
    int32_t left, right, merged;
    bool operator<(const Waiting& other) const {  // the greatest leaves the heap first
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  const auto end = static_cast<uint32_t>(symbols.size());
  std::vector<uint32_t> next(end), previous(end);
  std::vector<Waiting> room;
  room.reserve(end);
  std::priority_queue<Waiting> queue({}, std::move(room));
  const auto consider = [&](uint32_t left, uint32_t right) {
    const Merge merge = between(symbols[left], symbols[right], candidates);
    if (merge.rank == UINT32_MAX) return;
    queue.push({merge.rank, left, symbols[left].id, symbols[right].id, merge.merged});
  };
  std::vector<bool> gone(end);
  for (uint32_t i = 0; i < end; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    if (i + 1 < end) consider(i, i + 1);
  }
  while (!queue.empty()) {
    const Waiting top = queue.top();
    queue.pop();
    const uint32_t left = top.place, right = next[left];
    if (gone[left] || right == end || symbols[left].id != top.left ||
        symbols[right].id != top.right) {
      continue;
    }
    symbols[left] = joined(symbols[left], symbols[right], top.merged);
    gone[right] = true;
    next[left] = next[right];
    if (left > 0) consider(previous[left], left);
    if (next[left] < end) {
      previous[next[left]] = left;
      consider(left, next[left]);
    }
  }
  size_t kept = 0;
  for (uint32_t i = 0; i < end; i = next[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace berth
