#pragma once

namespace berth {

// What draws the random numbers of dropout. kPhilox needs 64-bit products of integers; kThreefry
// needs additions, rotations and xors of 32 bits only.
enum class DropoutGenerator { kPhilox, kThreefry };

}  // namespace berth
