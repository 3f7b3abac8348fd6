#pragma once

#include <cstdint>

namespace berth {

// Factors of bf16 products lie in panels: rows of the left, columns of the right factor, called
// lanes here, by pairs of depth, the index that is summed over. Element (lane, d) of a panel of
// `width` lanes is at (d / 2 * width + lane) * 2 + d % 2; what is beyond the factor's lanes and
// depth is 0. These are the shapes that one micro-kernel keeps in 512-bit registers.
inline constexpr int64_t kPanelRows = 12, kPanelColumns = 32;

inline constexpr int64_t even(int64_t depth) { return (depth + 1) / 2 * 2; }

// Some lanes of an fp32 factor, row-major: of its two strides one is 1.
struct Lanes {
  const float* data;
  int64_t lane_stride, depth_stride;
  int64_t count;  // at most the panel's width
  int64_t depth;
};

// The inner loops of bf16 products with fp32 sums, on the calling thread.
struct Bf16Loops {
  // Rounds to nearest, ties to even. Panels of kPanelRows and of kPanelColumns lanes.
  void (*pack_rows)(const Lanes& lanes, uint16_t* panel);
  void (*pack_columns)(const Lanes& lanes, uint16_t* panel);

  // C [rows,columns], rows c_stride apart, = or += the product of a panel of rows and one of
  // columns over `depth`, an even number. An element's sum does not depend on rows and columns.
  void (*multiply)(const uint16_t* rows_panel, const uint16_t* columns_panel, int64_t depth,
                   int64_t rows, int64_t columns, bool add, float* c, int64_t c_stride);
};

namespace bf16_portable {
extern const Bf16Loops loops;  // to test against: slower than fp32
}
namespace bf16_avx512 {
extern const Bf16Loops loops;  // x86-64 with AVX512_BF16 only
}

// The best that this CPU has instructions for; null: none.
const Bf16Loops* native_bf16_loops();

}  // namespace berth
