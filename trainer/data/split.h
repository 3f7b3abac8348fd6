#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "trainer/data/example_table.h"

namespace berth {

struct Split {
  std::vector<uint32_t> train, held_out;  // rows, ascending
};

// Holds out about `fraction` of each stratum: the rows whose text hashes lowest, so that the same
// texts are held out whatever the seed and the order of the file. Equal texts stay together. A
// stratum of at least two texts gives at least one and keeps at least one (unless fraction is 0);
// one text that is a whole stratum is parted.
Split stratified_split(const RowKeys& keys, double fraction);

// Keeps `fraction` of the rows of each stratum, at least one of each, chosen by `seed`. Ascending.
std::vector<uint32_t> stratified_fraction(const std::vector<uint32_t>& rows,
                                          const std::deque<int32_t>& strata, double fraction,
                                          uint64_t seed);

// Keeps `count` rows (all, where there are no more), chosen by `seed`. Ascending.
std::vector<uint32_t> chosen_rows(const std::vector<uint32_t>& rows, int64_t count, uint64_t seed);

// The upper half of a hash of 64 bits, for RowKeys.
uint32_t text_hash(std::string_view text);

}  // namespace berth
