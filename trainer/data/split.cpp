#include "trainer/data/split.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "storage/base/crc32c.h"

namespace berth {
namespace {

// The finalizer of SplitMix64 (Steele et al. 2014): every input bit changes every output bit.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Rounds `count` so that rows with equal texts are not divided, and returns the result. On entry,
// the `count` rows with the lowest hashes are at the front. The other rows of the last text are
// moved to them. If no row would be left behind them, the rows of that text are taken out instead.
// If all rows have the same text, `count` is returned.
size_t whole_texts(std::vector<uint32_t>& rows, size_t count, const std::deque<uint32_t>& hashes) {
  if (count == 0) return 0;
  uint32_t last = 0;
  for (size_t i = 0; i < count; ++i) last = std::max(last, hashes[rows[i]]);
  const auto end_of = [&](const auto& belongs) {
    return static_cast<size_t>(std::partition(rows.begin(), rows.end(), belongs) - rows.begin());
  };
  const size_t with = end_of([&](uint32_t row) { return hashes[row] <= last; });
  if (with < rows.size()) return with;
  const size_t without = end_of([&](uint32_t row) { return hashes[row] < last; });
  return without > 0 ? without : count;
}

uint64_t seeded_hash(uint64_t seed, uint32_t row) {
  return mix(mix(seed + 0x9e3779b97f4a7c15) + row);
}

// Moves the `count` rows with the lowest keys to the front of `rows`. Among rows with equal keys,
// those with lower numbers come first.
template <typename Key>
void select_lowest(std::vector<uint32_t>& rows, size_t count, const Key& key) {
  const auto less = [&](uint32_t a, uint32_t b) {
    const auto key_a = key(a), key_b = key(b);
    return key_a != key_b ? key_a < key_b : a < b;
  };
  std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                   less);
}

// The rows of each stratum.
std::map<int32_t, std::vector<uint32_t>> by_stratum(const std::vector<uint32_t>& rows,
                                                    const std::deque<int32_t>& strata) {
  std::map<int32_t, size_t> sizes;
  for (const uint32_t row : rows) ++sizes[strata[row]];
  std::map<int32_t, std::vector<uint32_t>> members;
  for (const auto& [stratum, size] : sizes) members[stratum].reserve(size);
  for (const uint32_t row : rows) members[strata[row]].push_back(row);
  return members;
}

size_t part(double fraction, size_t whole) {
  return static_cast<size_t>(std::llround(fraction * static_cast<double>(whole)));
}

}  // namespace

uint32_t text_hash(std::string_view text) {
  return static_cast<uint32_t>(mix(crc32c(as_bytes(text)) | uint64_t{text.size()} << 32) >> 32);
}

Split stratified_split(const RowKeys& keys, double fraction) {
  Split split;
  split.train.resize(keys.strata.size());
  for (uint32_t row = 0; row < split.train.size(); ++row) split.train[row] = row;
  if (fraction == 0) return split;
  std::vector<bool> is_held_out(keys.strata.size());
  for (auto& [stratum, rows] : by_stratum(split.train, keys.strata)) {
    size_t count = part(fraction, rows.size());
    if (rows.size() >= 2) count = std::clamp<size_t>(count, 1, rows.size() - 1);
    select_lowest(rows, count, [&keys](uint32_t row) { return keys.hashes[row]; });
    count = whole_texts(rows, count, keys.hashes);
    for (size_t i = 0; i < count; ++i) is_held_out[rows[i]] = true;
  }
  split.train.clear();
  for (uint32_t row = 0; row < is_held_out.size(); ++row) {
    (is_held_out[row] ? split.held_out : split.train).push_back(row);
  }
  return split;
}

std::vector<uint32_t> stratified_fraction(const std::vector<uint32_t>& rows,
                                          const std::deque<int32_t>& strata, double fraction,
                                          uint64_t seed) {
  if (fraction == 1) return rows;
  std::vector<uint32_t> kept;
  for (auto& [stratum, members] : by_stratum(rows, strata)) {
    const size_t count = std::max<size_t>(part(fraction, members.size()), 1);
    select_lowest(members, count, [seed](uint32_t row) { return seeded_hash(seed, row); });
    kept.insert(kept.end(), members.begin(), members.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::vector<uint32_t> chosen_rows(const std::vector<uint32_t>& rows, int64_t count, uint64_t seed) {
  if (count >= static_cast<int64_t>(rows.size())) return rows;
  std::vector<uint32_t> kept = rows;
  select_lowest(kept, static_cast<size_t>(count),
                [seed](uint32_t row) { return seeded_hash(seed, row); });
  kept.resize(static_cast<size_t>(count));
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace berth
