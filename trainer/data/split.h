#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "trainer/data/example_table.h"

namespace berth {

// Rows of a table, both lists ascending.
struct Split {
  std::vector<uint32_t> train, held_out;
};

// Holds out about `fraction` of the rows of each stratum: those whose texts have the lowest hashes.
// The same texts are held out whatever the seed and the order of the file are. Equal texts stay
// together. A stratum with at least two texts has at least one on either side (unless fraction is
// 0). Where all rows of a stratum have the same text, they are divided.
Split stratified_split(const RowKeys& keys, double fraction);

// Chooses about `fraction` of the rows of each stratum, and at least one of each, by `seed`. The
// result is ascending.
std::vector<uint32_t> stratified_fraction(const std::vector<uint32_t>& rows,
                                          const std::deque<int32_t>& strata, double fraction,
                                          uint64_t seed);

// Chooses `count` rows by `seed`, or all where there are not as many. The result is ascending.
std::vector<uint32_t> chosen_rows(const std::vector<uint32_t>& rows, int64_t count, uint64_t seed);

// The upper half of a 64-bit hash of the text, for RowKeys.
uint32_t text_hash(std::string_view text);

}  // namespace berth
