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
// its part, and sums in fp32 what all have sent to this one, in the order of the ranks. `received`
// is memory for that.
template <typename Element>
void scatter_sums(Communicator& ranks, std::vector<std::byte>& sent,
                  std::vector<std::byte>& received, std::span<float> sums) {
  received.resize(sent.size());
  ranks.all_to_all(sent, received);
  decode(numbers_of<Element>(received), sums);
  for (size_t r = 1; r < static_cast<size_t>(ranks.size()); ++r) {
    accumulate(numbers_of<Element>(received) + r * sums.size(), sums);
  }
}

// Sums in fp32 the shares that all ranks have sent to this one, in the order of the ranks, and
// rounds each sum once. `received` has sums.size() numbers of each rank.
template <typename Element>
void sum_shares(const Element* received, size_t ranks, std::span<Element> sums) {
  constexpr size_t kBlock = 4096;  // whose sums stay in the first-level cache
  std::array<float, kBlock> block;
  for (size_t begin = 0; begin < sums.size(); begin += kBlock) {
    const auto exact = std::span(block).first(std::min(kBlock, sums.size() - begin));
    decode(received + begin, exact);
    for (size_t r = 1; r < ranks; ++r) accumulate(received + r * sums.size() + begin, exact);
    encode(exact, sums.data() + begin);
  }
}

}  // namespace berth
