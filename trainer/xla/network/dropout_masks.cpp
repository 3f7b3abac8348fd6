#include "trainer/xla/network/dropout_masks.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace berth {
namespace {

using stablehlo::Comparison;
using stablehlo::Dims;
using stablehlo::ElementType;
using stablehlo::Graph;
using stablehlo::Value;

Value word(Graph& graph, uint32_t number) {
  return constant(graph, static_cast<double>(number), ElementType::kU32);
}

// The high and the low half of a product of 32-bit words.
std::array<Value, 2> multiply_wide(uint32_t factor, Value x) {
  const Value product = convert(x, ElementType::kU64) *
                        constant(x.graph(), static_cast<double>(factor), ElementType::kU64);
  return {convert(shift_right(product, 32), ElementType::kU32),
          convert(product, ElementType::kU32)};
}

// philox4x32() of storage/base/philox.h, element by element.
std::array<Value, 4> philox(std::array<Value, 4> counter, std::array<Value, 2> key) {
  Graph& graph = counter[0].graph();
  for (int round = 0; round < 10; ++round) {
    const auto [high0, low0] = multiply_wide(0xD2511F53u, counter[0]);
    const auto [high1, low1] = multiply_wide(0xCD9E8D57u, counter[2]);
    counter = {high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0};
    key[0] = key[0] + word(graph, 0x9E3779B9u);
    key[1] = key[1] + word(graph, 0xBB67AE85u);
  }
  return counter;
}

// Factors of dropout [...,8*n] from counters whose first words are block [...,n]: element i of a
// row is decided by half i % 2 of word i % 8 / 2 of counter i / 8.
Value factors(const std::array<Value, 4>& counter, const std::array<Value, 2>& key, double p) {
  Dims shape = counter[0].shape();
  const int64_t blocks = shape.back(), last = static_cast<int64_t>(shape.size());
  shape.push_back(1);
  std::vector<Value> halves;
  for (const Value& draw : philox(counter, key)) {
    halves.push_back(reshape(draw & word(draw.graph(), 0xFFFFu), shape));
    halves.push_back(reshape(shift_right(draw, 16), shape));
  }
  shape.pop_back();
  shape.back() = 8 * blocks;
  const Value draws = reshape(concatenate(halves, last), shape);
  const auto threshold = static_cast<uint32_t>(
      std::min(65535L, std::lround(static_cast<double>(static_cast<float>(p)) * 65536.0)));
  const float scale = 65536.0f / static_cast<float>(65536u - threshold);
  Graph& graph = draws.graph();
  return select(compare(draws, Comparison::kLess, word(graph, threshold)), constant(graph, 0),
                constant(graph, static_cast<double>(scale)));
}

}  // namespace

DropoutMasks::DropoutMasks(Value step_words, int64_t layers)
    : step_words_(step_words), sites_(16 + 4 * layers) {}

// Sites are ranges of numbers from 0, 0x40000000 and 0x50000000 on. The keys of a range are
// computed together.
DropoutMasks::Key DropoutMasks::key_of(uint32_t site) {
  Graph& graph = step_words_.graph();
  const uint32_t first = site & 0xF0000000u;
  if (!keys_of_range_.contains(first)) {
    const Dims all = {sites_};
    const auto step_word = [&](int64_t i) { return reshape(slice(step_words_, 0, i, i + 1), {}); };
    const Value sites = iota(graph, ElementType::kU32, all, 0) + word(graph, first);
    const auto words = philox({broadcast(step_word(2), all), broadcast(step_word(3), all), sites,
                               broadcast(word(graph, 0), all)},
                              {step_word(0), step_word(1)});
    keys_of_range_[first] = {words[0], words[1]};
  }
  Key key = keys_of_range_[first];
  const int64_t at = site - first;
  for (Value& half : key) half = reshape(slice(half, 0, at, at + 1), {});
  return key;
}

Value DropoutMasks::drop(Value x, double p, uint32_t site, Value rows) {
  if (p <= 0) return x;
  Graph& graph = x.graph();
  const Dims shape = {x.size(0), (x.size(1) + 7) / 8};
  const Value zero = broadcast(word(graph, 0), shape);
  const Value block = iota(graph, ElementType::kU32, shape, 1);
  const Value kept = factors({block, zero, broadcast(rows, shape, {0}), zero}, key_of(site), p);
  return x * slice(kept, 1, 0, x.size(1));
}

Value DropoutMasks::drop_probabilities(Value x, double p, uint32_t site, Value rows,
                                       Value first_block) {
  if (p <= 0) return x;
  Graph& graph = x.graph();
  const Dims shape = {x.size(0), x.size(1), x.size(2), x.size(3) / 8};
  const Value block =
      iota(graph, ElementType::kU32, shape, 3) - broadcast(first_block, shape, {0, 2});
  const Value head = iota(graph, ElementType::kU32, shape, 1);
  return x *
         factors({block, head, broadcast(rows, shape, {0, 2}), broadcast(word(graph, 0), shape)},
                 key_of(site), p);
}

}  // namespace berth
