#include "trainer/xla/network/dropout_masks.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/model/dropout_sites.h"

namespace berth {
namespace {

using stablehlo::barrier;
using stablehlo::Comparison;
using stablehlo::Dims;
using stablehlo::ElementType;
using stablehlo::Graph;
using stablehlo::Value;

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
