#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace berth {

struct Split {
  std::vector<uint32_t> train, held_out;  // rows, ascending
};

// Holds out `fraction` of each class: the rows whose text hashes lowest. So the same texts are held
// out whatever the seed and the order of the file. A class of at least two rows gives at least one
// and keeps at least one (unless fraction is 0).
Split stratified_split(std::span<const std::string> texts, std::span<const int32_t> labels,
                       double fraction);

// Keeps `fraction` of the rows of each class, at least one of each, chosen by `seed`. Ascending.
std::vector<uint32_t> stratified_fraction(std::span<const uint32_t> rows,
                                          std::span<const int32_t> labels, double fraction,
                                          uint64_t seed);

}  // namespace berth
