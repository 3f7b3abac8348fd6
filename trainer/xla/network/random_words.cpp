#include "trainer/xla/network/random_words.h"

#include <cstdint>

namespace berth {

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

}  // namespace berth
