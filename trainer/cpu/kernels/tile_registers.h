#pragma once

namespace berth {

// The numbers that AMX multiplies.
enum class TileNumbers { kBf16, kInt8 };

// Whether this CPU has AMX with products of these numbers, and Linux permits this process to use
// it. AMX has registers that hold a matrix of 16 rows of 64 bytes. Asks Linux for the permission.
bool has_tile_registers(TileNumbers numbers);

}  // namespace berth
