#pragma once

#include "trainer/cpu/network/position_bias.h"
#include "trainer/cpu/network/relative_positions.h"
#include "trainer/cpu/network/rotary_positions.h"

namespace berth {

// What the layers of an encoder share of positions. Null: the architecture has none of the kind.
struct SharedPositions {
  RelativePositions* relative = nullptr;  // attention is disentangled
  RotaryPositions* rotary = nullptr;      // queries and keys are turned
  PositionBias* bias = nullptr;           // it is added to the scores
};

}  // namespace berth
