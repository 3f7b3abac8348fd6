#pragma once

namespace berth {

// The generator of dropout's random numbers. kPhilox needs 64-bit products of integers; kThreefry
// needs additions, rotations and xors of 32 bits only.
enum class DropoutGenerator { kPhilox, kThreefry };

}  // namespace berth
