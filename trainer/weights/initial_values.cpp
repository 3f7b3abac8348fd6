#include "trainer/weights/initial_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/base/philox.h"
#include "storage/base/thread_pool.h"

namespace berth {
namespace {

// Normal values by the Box-Muller transform of Philox blocks, each of which gives four. A value
// that lies more than `cutoff` deviations from 0 is drawn again, from blocks that are used for
// nothing else. A cutoff of 0 is no limit.
void fill_normal(std::span<float> values, double deviation, double cutoff, uint64_t seed,
                 uint32_t stream, ThreadPool& pool) {
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed),
                                       static_cast<uint32_t>(seed >> 32)};
  // Block `block` of the stream, attempt `attempt`: four normal numbers.
  const auto draw = [&](uint64_t block, uint32_t attempt, float* normal) {
    const std::array<uint32_t, 4> random =
        philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), stream,
                    0x696E6974 + attempt},
                   key);
    for (int pair = 0; pair < 2; ++pair) {
      const double u = (random[2 * pair] + 0.5) * 0x1p-32;
      const double angle = 2 * std::numbers::pi * random[2 * pair + 1] * 0x1p-32;
      const double radius = deviation * std::sqrt(-2 * std::log(u));
      normal[2 * pair] = static_cast<float>(radius * std::cos(angle));
      normal[2 * pair + 1] = static_cast<float>(radius * std::sin(angle));
    }
  };
  // Numbers beyond the cutoff are replaced one by one, so that a cutoff leaves all others as they
  // are.
  const auto most = static_cast<float>(cutoff * deviation);
  const auto fill_block = [&](uint64_t block) {
    const size_t begin = block * 4;
    float normal[4];
    draw(block, 0, normal);
    for (int i = 0; i < 4 && cutoff > 0; ++i) {
      for (uint32_t attempt = 1; std::abs(normal[i]) > most; ++attempt) {
        float again[4];
        draw(block, attempt, again);
        normal[i] = again[i];
      }
    }
    const size_t count = std::min<size_t>(4, values.size() - begin);
    std::copy_n(normal, count, values.begin() + static_cast<std::ptrdiff_t>(begin));
  };
  constexpr int64_t kBlocksPerThread = 1024;
  const auto blocks = static_cast<int64_t>((values.size() + 3) / 4);
  pool.parallel_for(blocks, kBlocksPerThread, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) fill_block(static_cast<uint64_t>(block));
  });
}

}  // namespace

void initialize(ParameterTensors& target, std::span<const size_t> indices, double initializer_range,
                uint64_t seed, int threads) {
  ThreadPool pool(threads);
  std::vector<float> values;
  for (const size_t index : indices) {
    const ParameterSpec& spec = target.specs()[index];
    values.assign(static_cast<size_t>(spec.elements()),
                  spec.initial == Initial::kOnes ? 1.0f : 0.0f);
    if (spec.initial == Initial::kNormal) {
      const double deviation = spec.deviation > 0 ? spec.deviation : initializer_range;
      fill_normal(values, deviation, spec.cutoff, seed, crc32c(as_bytes(spec.name)), pool);
    }
    target.write(index, 0, std::as_bytes(std::span(values)));
  }
}

void initialize(ParameterTensors& target, double initializer_range, uint64_t seed, int threads) {
  std::vector<size_t> all(target.specs().size());
  std::iota(all.begin(), all.end(), size_t{0});
  initialize(target, all, initializer_range, seed, threads);
}

}  // namespace berth
