#pragma once

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

}  // namespace berth
