#include "trainer/xla/network/dropout_masks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "trainer/model/dropout_sites.h"

namespace berth {

using stablehlo::barrier;
using stablehlo::Comparison;
using stablehlo::Dims;
using stablehlo::ElementType;
using stablehlo::Graph;
using stablehlo::Value;

namespace {

// The high and the low half of a product of 32-bit words.
std::array<Value, 2> multiply_wide(uint32_t factor, Value x) {
  const Value product = convert(x, ElementType::kU64) *
                        constant(x.graph(), static_cast<double>(factor), ElementType::kU64);
  return {convert(shift_right(product, 32), ElementType::kU32),
          convert(product, ElementType::kU32)};
}

RandomWords philox4x32(RandomWords counter, RandomKey key) {
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

// The two words become their sum, and the other word rotated to the left and combined with it.
void mix(Value& sum, Value& other, uint32_t bits) {
  sum = sum + other;
  const Value shifted = other * word(other.graph(), 1u << bits);
  other = (shifted | shift_right(other, 32 - bits)) ^ sum;
}

}  // namespace

Value word(Graph& graph, uint32_t number) {
  return constant(graph, static_cast<double>(number), ElementType::kU32);
}

RandomWords threefry4x32(const RandomWords& counter, const RandomWords& key) {
  constexpr int kRounds = 13;
  constexpr std::array<uint32_t, 2> kRotations[] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                                    {6, 20},  {17, 11}, {25, 10}, {18, 20}};
  Graph& graph = counter[0].graph();
  const Value parity = word(graph, 0x1BD11BDAu) ^ key[0] ^ key[1] ^ key[2] ^ key[3];
  const std::array<Value, 5> keys = {key[0], key[1], key[2], key[3], parity};
  RandomWords x = counter;
  const auto add_keys = [&](uint32_t number) {
    for (uint32_t i = 0; i < 4; ++i) x[i] = x[i] + keys[(number + i) % 5];
    if (number > 0) x[3] = x[3] + word(graph, number);
  };
  add_keys(0);
  for (uint32_t round = 0; round < kRounds; ++round) {
    const auto [first, second] = kRotations[round % 8];
    const bool is_even = round % 2 == 0;
    mix(x[0], x[is_even ? 1 : 3], first);
    mix(x[2], x[is_even ? 3 : 1], second);
    if (round % 4 == 3) add_keys((round + 1) / 4);
  }
  return x;
}

RandomWords random_words(DropoutGenerator generator, const RandomWords& counter,
                         const RandomKey& key) {
  if (generator == DropoutGenerator::kPhilox) return philox4x32(counter, key);
  const Value zero = word(counter[0].graph(), 0);
  return threefry4x32(counter, {key[0], key[1], zero, zero});
}

namespace {

// Bit i of a word is set where element i of a block is dropped: where half i % 2 of word i / 2 of
// the draw is below the threshold.
Value decide(const RandomWords& draw, uint32_t threshold) {
  Graph& graph = draw[0].graph();
  const Value zero = word(graph, 0);
  Value dropped = zero;
  for (uint32_t i = 0; i < 8; ++i) {
    const bool is_low = i % 2 == 0;
    const Value half = is_low ? draw[i / 2] & word(graph, 0xFFFFu) : draw[i / 2];
    const Value below = word(graph, is_low ? threshold : threshold << 16);
    dropped = dropped | select(compare(half, Comparison::kLess, below), word(graph, 1u << i), zero);
  }
  return dropped;
}

// The elements [...,8*n] of blocks [...,n]: 0 where the block's bit is set, else `kept`.
Value spread_bits(Value dropped, double kept) {
  Graph& graph = dropped.graph();
  const Value zero = word(graph, 0);
  Dims shape = dropped.shape(), of_blocks;
  for (int64_t i = 0; i < dropped.rank(); ++i) of_blocks.push_back(i);
  shape.push_back(8);
  constexpr int32_t kBits[] = {1, 2, 4, 8, 16, 32, 64, 128};
  const Value bit = convert(constant(graph, kBits), ElementType::kU32);
  const Value is_dropped =
      compare(broadcast(dropped, shape, of_blocks) & broadcast(bit, shape, {dropped.rank()}),
              Comparison::kNotEqual, zero);
  shape.pop_back();
  shape.back() *= 8;
  return select(reshape(is_dropped, shape), constant(graph, 0), constant(graph, kept));
}

}  // namespace

DropoutMasks::DropoutMasks(Value step_words, int64_t layers, bool together,
                           DropoutGenerator generator)
    : step_words_(step_words), layers_(layers), together_(together), generator_(generator) {}

// The keys of the sites `site`, site + 4 and so on. Sites are ranges of numbers from 0, 0x40000000
// and 0x50000000 on; the first range begins with 16 sites beside the layers. The keys of a range
// are computed together.
RandomKey DropoutMasks::keys_of(uint32_t site, int64_t count) {
  Graph& graph = step_words_.graph();
  const uint32_t first = site & 0xF0000000u;
  if (!keys_of_range_.contains(first)) {
    const Dims table = {4 + layers_, 4};
    const auto step_word = [&](int64_t i) { return reshape(slice(step_words_, 0, i, i + 1), {}); };
    const Value sites = iota(graph, ElementType::kU32, {4 * table[0]}, 0) + word(graph, first);
    const auto words = random_words(generator_,
                                    {broadcast(step_word(2), table), broadcast(step_word(3), table),
                                     reshape(sites, table), broadcast(word(graph, 0), table)},
                                    {step_word(0), step_word(1)});
    keys_of_range_[first] = {words[0], words[1]};
  }
  RandomKey keys = keys_of_range_[first];
  const int64_t row = (site - first) / 4, column = (site - first) % 4;
  for (Value& half : keys) {
    half = reshape(slice(slice(half, 0, row, row + count), 1, column, column + 1), {count});
  }
  return keys;
}

Value DropoutMasks::factors(double p, uint32_t site, const Blocks& blocks) {
  const auto threshold = static_cast<uint32_t>(
      std::min(65535L, std::lround(static_cast<double>(static_cast<float>(p)) * 65536.0)));
  const int64_t layer = layer_of_site(site);
  const bool joins = together_ && layer >= 0;
  const uint32_t kind = joins ? site - 4 * static_cast<uint32_t>(layer) : site;
  Draw& draw = draws_[{kind, threshold, blocks[0].index(), blocks[1].index(), blocks[2].index()}];
  // One draw for this site, or for all layers from this one on: [layers,...].
  if (!draw.dropped) {
    Dims shape = blocks[0].shape(), of_blocks;
    shape.insert(shape.begin(), joins ? layers_ - layer : 1);
    for (int64_t i = 1; i <= blocks[0].rank(); ++i) of_blocks.push_back(i);
    const RandomKey keys = keys_of(site, shape[0]);
    const auto words = random_words(
        generator_,
        {broadcast(blocks[0], shape, of_blocks), broadcast(blocks[1], shape, of_blocks),
         broadcast(blocks[2], shape, of_blocks), broadcast(word(step_words_.graph(), 0), shape)},
        {broadcast(keys[0], shape, {0}), broadcast(keys[1], shape, {0})});
    // Without the barrier, a compiler would draw a block again for each of its elements.
    draw = {site, barrier(decide(words, threshold), step_words_)};
  }
  // This site's part of it.
  const int64_t at = (site - draw.first_site) / 4;
  const Value dropped = reshape(slice(draw.dropped, 0, at, at + 1), blocks[0].shape());
  const float scale = 65536.0f / static_cast<float>(65536u - threshold);
  return spread_bits(dropped, static_cast<double>(scale));
}

Value DropoutMasks::drop(Value x, double p, uint32_t site, Value rows) {
  if (p <= 0) return x;
  Graph& graph = x.graph();
  const Dims shape = {x.size(0), (x.size(1) + 7) / 8};
  const Value block = iota(graph, ElementType::kU32, shape, 1);
  const Value head = broadcast(word(graph, 0), shape);
  return x * slice(factors(p, site, {block, head, broadcast(rows, shape, {0})}), 1, 0, x.size(1));
}

Value DropoutMasks::drop_probabilities(Value x, double p, uint32_t site, Value rows,
                                       Value first_block) {
  if (p <= 0) return x;
  Graph& graph = x.graph();
  const Dims shape = {x.size(0), x.size(1), x.size(2), x.size(3) / 8};
  const Value block =
      iota(graph, ElementType::kU32, shape, 3) - broadcast(first_block, shape, {0, 2});
  const Value head = iota(graph, ElementType::kU32, shape, 1);
  return x * factors(p, site, {block, head, broadcast(rows, shape, {0, 2})});
}

}  // namespace berth
