#pragma once

#include <algorithm>
#include <cstdint>

#include "trainer/cpu/kernels/bf16/bf16_loops.h"

namespace berth {

// bf16 products on tiles, the registers of AMX that hold a matrix of 16 rows of 64 bytes (Intel's
// Architecture Instruction Set Extensions Reference, 319433). `Tiles` provides eight of them:
//   load<tile>(from, stride_bytes), store<tile>(to, stride_bytes), zero<tile>(),
//   dot<c, a, b>(): C [16,16] of fp32 += A [16,32] of bf16 * B [16,16] of pairs of bf16.
// Panels of rows are 32 lanes wide and ordered by blocks of 32 depths: element (lane, d) is at
// (d / 32 * 32 + lane) * 32 + d % 32, so that each tile is a contiguous KiB.

inline constexpr int64_t kTileSide = 16, kTileDepth = 32;
inline constexpr int64_t kTilePanelRows = 2 * kTileSide;

// Rows of the left factor as tiles read them: `stride` elements apart, and `step` elements from one
// block of 32 depths to the next.
struct TileRows {
  const uint16_t* data;
  int64_t stride, step;
};

// As Bf16Loops::multiply, with 2 x 2 tiles of sums.
template <typename Tiles>
void multiply_by_tiles(const TileRows& left, const uint16_t* b, int64_t depth, int64_t rows,
                       int64_t columns, const Addend& addend, float* c, int64_t c_stride,
                       const Between& between) {
  constexpr int64_t kColumns = 2 * kTileSide;
  constexpr size_t kRowBytes = 64;
  alignas(64) float edge[kTilePanelRows * kColumns];
  const bool is_whole = rows == kTilePanelRows && columns == kColumns;
  float* const sums = is_whole ? c : edge;
  const int64_t stride = is_whole ? c_stride : kColumns;
  const size_t stride_bytes = static_cast<size_t>(stride) * sizeof(float);
  // The four tiles of sums begin as the addend, or as zeros. A block at the edge of C goes through
  // `edge`, because tiles are read and written as a whole.
  if (addend.data != nullptr) {
    for (int64_t r = 0; !is_whole && r < rows; ++r) {
      std::copy_n(addend.data + r * addend.stride, columns, edge + r * kColumns);
    }
    const auto [from, apart] = is_whole ? addend : Addend{edge, kColumns};
    const size_t apart_bytes = static_cast<size_t>(apart) * sizeof(float);
    Tiles::template load<0>(from, apart_bytes);
    Tiles::template load<1>(from + kTileSide, apart_bytes);
    Tiles::template load<2>(from + kTileSide * apart, apart_bytes);
    Tiles::template load<3>(from + kTileSide * apart + kTileSide, apart_bytes);
  } else {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }
  // Tiles:  0 1   +=   4   *  6 7
  //         2 3        5
  const uint16_t* a = left.data;
  const auto left_bytes = static_cast<size_t>(left.stride) * sizeof(uint16_t);
  for (int64_t d = 0; d < depth; d += kTileDepth) {
    Tiles::template load<4>(a, left_bytes);
    Tiles::template load<6>(b, 2 * kRowBytes);
    Tiles::template dot<0, 4, 6>();
    Tiles::template load<7>(b + 2 * kTileSide, 2 * kRowBytes);
    Tiles::template dot<1, 4, 7>();
    Tiles::template load<5>(a + kTileSide * left.stride, left_bytes);
    Tiles::template dot<2, 5, 6>();
    Tiles::template dot<3, 5, 7>();
    if (between.step != nullptr) between.step(between.context);
    a += left.step;
    b += kColumns * kTileDepth;
  }
  Tiles::template store<0>(sums, stride_bytes);
  Tiles::template store<1>(sums + kTileSide, stride_bytes);
  Tiles::template store<2>(sums + kTileSide * stride, stride_bytes);
  Tiles::template store<3>(sums + kTileSide * stride + kTileSide, stride_bytes);
  for (int64_t r = 0; !is_whole && r < rows; ++r) {
    std::copy_n(edge + r * kColumns, columns, c + r * c_stride);
  }
}

// Rows of a panel lie in blocks of 32 depths.
template <typename Tiles>
void multiply_tiles(const uint16_t* a, const uint16_t* b, int64_t depth, int64_t rows,
                    int64_t columns, const Addend& addend, float* c, int64_t c_stride) {
  multiply_by_tiles<Tiles>({a, kTileDepth, kTilePanelRows * kTileDepth}, b, depth, rows, columns,
                           addend, c, c_stride, {});
}

// As Bf16Loops::multiply_in_place.
template <typename Tiles>
void multiply_tiles_in_place(const uint16_t* a, int64_t row_stride, const uint16_t* b,
                             int64_t depth, int64_t columns, const Addend& addend, float* c,
                             int64_t c_stride, const Between& between) {
  multiply_by_tiles<Tiles>({a, row_stride, kTileDepth}, b, depth, kTilePanelRows, columns, addend,
                           c, c_stride, between);
}

}  // namespace berth
