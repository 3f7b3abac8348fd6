#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "trainer/cpu/kernels/bf16/bf16_loops.h"
#include "trainer/cpu/kernels/bf16/tile_loops.h"

namespace berth {

// Emulates AMX on CPUs without it (Intel's Instruction Set Reference: TILELOADD, TILESTORED,
// TILEZERO, TDPBF16PS). It may add up in another order than the CPU, so tests use small integers,
// whose sums are exact. Each thread has its own tiles.
struct EmulatedTiles {
  static constexpr size_t kRows = 16, kRowBytes = 64, kPairs = 16;
  using Tile = std::array<std::byte, kRows * kRowBytes>;
  inline static thread_local std::array<Tile, 8> tiles;

  static void load(size_t tile, const void* from, int64_t stride_bytes) {
    const auto* row = static_cast<const std::byte*>(from);
    for (size_t i = 0; i < kRows; ++i, row += stride_bytes) {
      std::memcpy(&tiles[tile][i * kRowBytes], row, kRowBytes);
    }
  }
  static void store(size_t tile, void* to, int64_t stride_bytes) {
    auto* row = static_cast<std::byte*>(to);
    for (size_t i = 0; i < kRows; ++i, row += stride_bytes) {
      std::memcpy(row, &tiles[tile][i * kRowBytes], kRowBytes);
    }
  }
  static void zero(size_t tile) { tiles[tile].fill(std::byte{0}); }
  // C[m][n] += A[m][2k] * B[k][2n] + A[m][2k + 1] * B[k][2n + 1]
  static void dot(size_t c, size_t a, size_t b) {
    const Factor left = factor(a), right = factor(b);
    float sums[kRows][kPairs];
    std::memcpy(sums, tiles[c].data(), sizeof sums);
    for (size_t m = 0; m < kRows; ++m) {
      float* const row = sums[m];  // plain pointers, because tests are not optimized
      for (size_t k = 0; k < kPairs; ++k) {
        const float even = left[m * 2 * kPairs + 2 * k], odd = left[m * 2 * kPairs + 2 * k + 1];
        const float* const pairs = right.data() + k * 2 * kPairs;
        for (size_t n = 0; n < kPairs; ++n) {
          row[n] += even * pairs[2 * n];
          row[n] += odd * pairs[2 * n + 1];
        }
      }
    }
    std::memcpy(tiles[c].data(), sums, sizeof sums);
  }

  // The same operations in the form that tile_loops.h expects.
  template <int kTile>
  static void load(const void* from, size_t stride_bytes) {
    load(kTile, from, static_cast<int64_t>(stride_bytes));
  }
  template <int kTile>
  static void store(void* to, size_t stride_bytes) {
    store(kTile, to, static_cast<int64_t>(stride_bytes));
  }
  template <int kTile>
  static void zero() {
    zero(kTile);
  }
  template <int kC, int kA, int kB>
  static void dot() {
    dot(kC, kA, kB);
  }

 private:
  using Factor = std::array<float, kRows * 2 * kPairs>;

  static Factor factor(size_t tile) {
    std::array<uint16_t, kRows * 2 * kPairs> rounded;
    std::memcpy(rounded.data(), tiles[tile].data(), sizeof rounded);
    Factor values;
    std::transform(rounded.begin(), rounded.end(), values.begin(),
                   [](uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); });
    return values;
  }
};

namespace emulated_tiles {

// Packs rows as amx.cpp does. Columns are packed by the portable loops and padded.
inline void pack_panel_of_rows(const Lanes& lanes, uint16_t* panel) {
  static_assert(kTilePanelRows == kPanelColumns);
  const int64_t padded = (lanes.depth + kTileDepth - 1) / kTileDepth * kTileDepth;
  std::vector<uint16_t> pairs(static_cast<size_t>(padded * kTilePanelRows));
  bf16_portable::loops.pack_columns(lanes, pairs.data());
  const uint16_t* const from = pairs.data();
  for (int64_t d = 0; d < padded; ++d) {
    for (int64_t lane = 0; lane < kTilePanelRows; ++lane) {
      panel[(d / kTileDepth * kTilePanelRows + lane) * kTileDepth + d % kTileDepth] =
          from[(d / 2 * kPanelColumns + lane) * 2 + d % 2];
    }
  }
}

inline void pack_columns(const Lanes& lanes, uint16_t* panel) {
  bf16_portable::loops.pack_columns(lanes, panel);
  const int64_t packed = bf16_portable::loops.padded(lanes.depth);
  const int64_t whole = (lanes.depth + kTileDepth - 1) / kTileDepth * kTileDepth;
  std::fill(panel + packed * kPanelColumns, panel + whole * kPanelColumns, uint16_t{0});
}

}  // namespace emulated_tiles

inline const Bf16Loops emulated_tile_loops = {
    .name = "bf16-tiles",
    .panel_rows = kTilePanelRows,
    .depth_multiple = kTileDepth,
    .pack_rows =
        [](const Lanes& lanes, uint16_t* panels) {
          for_each_panel(emulated_tile_loops, lanes, panels, emulated_tiles::pack_panel_of_rows);
        },
    .pack_columns = emulated_tiles::pack_columns,
    .multiply = multiply_tiles<EmulatedTiles>,
    .multiply_in_place = multiply_tiles_in_place<EmulatedTiles>};

}  // namespace berth
