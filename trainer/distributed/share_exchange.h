#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/distributed/communicator.h"

namespace berth {

// The elements that travel at once, by the rank that owns them: the elements of share r, in their
// order, belong to rank r. Shares of all ranks have the same sizes.
using Shares = std::vector<std::vector<std::span<float>>>;

// The two halves of a reduction, for ranks that each own a share of the elements: what stage 1 of
// ZeRO needs (Rajbhandari et al. 2020, arXiv:1910.02054). Each sends (n-1)/n elements from each of
// n ranks for each element, and more where shares differ in size. All ranks call them in the same
// order. Not thread-safe. Borrows the communicator.
class ShareExchange {
 public:
  // `wire_dtype` is the type in which gradients travel: kF32, or kBF16, which rounds each rank's
  // gradient once.
  ShareExchange(Communicator& ranks, DType wire_dtype) : ranks_(ranks), wire_dtype_(wire_dtype) {}

  // Reduce-scatter: this rank's share becomes the sum over all ranks, in fp32 and in the order of
  // the ranks. All other shares become zeros.
  void scatter_sums(const Shares& gradients);
  // All-gather: every share becomes a copy of its owner's, to the bit.
  void gather(const Shares& values);

 private:
  template <typename Element>
  void scatter_sums_as(const Shares& gradients);

  Communicator& ranks_;
  const DType wire_dtype_;
  std::vector<std::byte> sent_, received_;
  std::vector<float> sums_;
};

}  // namespace berth
