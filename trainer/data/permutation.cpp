#include "trainer/data/permutation.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "storage/base/philox.h"

namespace berth {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

void permute(int64_t size, uint64_t seed, int64_t epoch, uint32_t stream,
             std::vector<uint32_t>& order) {
  constexpr uint32_t kPurpose = 0x70657266;  // no dropout site has this number
  order.resize(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0u);
  const auto key = philox_key(seed, static_cast<uint64_t>(epoch), kPurpose);
  for (int64_t i = size - 1; i > 0; --i) {
    const auto random = philox4x32(
        {low_word(static_cast<uint64_t>(i)), high_word(static_cast<uint64_t>(i)), stream, kPurpose},
        key);
    // Lemire's method (2019, arXiv:1805.10941): the high half of a 64-bit number times the range.
    // Its bias is below 2^-32.
    const uint64_t wide = uint64_t{random[0]} << 32 | random[1];
    const auto j =
        static_cast<size_t>((static_cast<Wide>(wide) * static_cast<uint64_t>(i + 1)) >> 64);
    std::swap(order[static_cast<size_t>(i)], order[j]);
  }
}

}  // namespace berth
