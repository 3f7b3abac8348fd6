#include "trainer/data/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "storage/base/crc32c.h"

namespace berth {
namespace {

// The finalizer of SplitMix64 (Steele et al. 2014): every input bit changes every output bit.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

using KeyedRow = std::pair<uint64_t, uint32_t>;  // (hash, row)

}  // namespace

Split stratified_split(std::span<const std::string> texts, std::span<const int32_t> labels,
                       double fraction) {
  std::map<int32_t, std::vector<KeyedRow>> classes;
  for (uint32_t row = 0; row < texts.size(); ++row) {
    const uint64_t hash = crc32c(as_bytes(texts[row])) | uint64_t{texts[row].size()} << 32;
    classes[labels[row]].emplace_back(mix(hash), row);
  }
  Split split;
  for (auto& [label, rows] : classes) {
    std::sort(rows.begin(), rows.end());
    size_t count = static_cast<size_t>(std::llround(fraction * static_cast<double>(rows.size())));
    if (fraction > 0 && rows.size() >= 2) count = std::clamp<size_t>(count, 1, rows.size() - 1);
    for (size_t i = 0; i < rows.size(); ++i) {
      (i < count ? split.held_out : split.train).push_back(rows[i].second);
    }
  }
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.held_out.begin(), split.held_out.end());
  return split;
}

std::vector<uint32_t> stratified_fraction(std::span<const uint32_t> rows,
                                          std::span<const int32_t> labels, double fraction,
                                          uint64_t seed) {
  std::map<int32_t, std::vector<KeyedRow>> classes;
  for (const uint32_t row : rows) {
    classes[labels[row]].emplace_back(mix(mix(seed + 0x9e3779b97f4a7c15) + row), row);
  }
  std::vector<uint32_t> kept;
  for (auto& [label, keyed] : classes) {
    std::sort(keyed.begin(), keyed.end());
    const auto count =
        static_cast<size_t>(std::llround(fraction * static_cast<double>(keyed.size())));
    for (size_t i = 0; i < std::max<size_t>(count, 1); ++i) kept.push_back(keyed[i].second);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace berth
