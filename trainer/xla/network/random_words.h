#pragma once

#include <array>
#include <cstdint>

#include "trainer/model/dropout_generator.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth {

// Four random words as a pure function of a counter and a key, element by element. All are u32 of
// one shape, but the words of the key may be scalars.
using RandomWords = std::array<stablehlo::Value, 4>;
using RandomKey = std::array<stablehlo::Value, 2>;

// Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3": Philox 4x32-10, as
// philox4x32() of storage/base/philox.h, or Threefry 4x32-13 with zeros as the key's other words.
RandomWords random_words(DropoutGenerator generator, const RandomWords& counter,
                         const RandomKey& key);

// A number, u32.
stablehlo::Value word(stablehlo::Graph& graph, uint32_t number);

// Threefry 4x32-13 with a whole key.
RandomWords threefry4x32(const RandomWords& counter, const RandomWords& key);

}  // namespace berth
