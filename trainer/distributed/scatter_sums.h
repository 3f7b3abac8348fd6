#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "trainer/distributed/communicator.h"
#include "trainer/distributed/wire_numbers.h"

namespace berth {

// A reduce-scatter, as a collective. `sent` has sums.size() numbers for each rank. Sends each rank
// its part, and sums in fp32 what all have sent to this one, in the order of the ranks. Sums in
// another type than fp32 are rounded once. `received` is memory for the numbers that arrive.
template <typename Element, typename Sum>
void scatter_sums(Communicator& ranks, Bytes sent, std::vector<std::byte>& received,
                  std::span<Sum> sums) {
  received.resize(sent.size());
  ranks.all_to_all(sent, received);
  const Element* const numbers = numbers_of<Element>(received);
  constexpr size_t kBlock = 4096;  // whose sums stay in the first-level cache
  std::array<float, kBlock> block;
  for (size_t begin = 0; begin < sums.size(); begin += kBlock) {
    const auto exact = std::span(block).first(std::min(kBlock, sums.size() - begin));
    decode(numbers + begin, exact);
    for (size_t r = 1; r < static_cast<size_t>(ranks.size()); ++r) {
      accumulate(numbers + r * sums.size() + begin, exact);
    }
    encode(exact, sums.data() + begin);
  }
}

}  // namespace berth
