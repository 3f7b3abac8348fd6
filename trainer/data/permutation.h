#pragma once

#include <cstdint>
#include <vector>

namespace berth {

// Fills `order` with a permutation of 0 .. size-1 that depends only on the other arguments. It is
// the Fisher-Yates shuffle in Durstenfeld's form (1964), with random numbers of Philox.
void permute(int64_t size, uint64_t seed, int64_t epoch, uint32_t stream,
             std::vector<uint32_t>& order);

}  // namespace berth
