#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "trainer/cpu/kernels/bf16/bf16_loops.h"

namespace berth {

// Products of int8 multiply numbers from -127 to 127 and sum them in int32, without an error. A
// float is its int8 number times a scale: a row of the left factor (a token) and a column of the
// right one (an output) have one scale each (Wu et al. 2020, arXiv:2004.09602, section 3).
// |sum| <= 127^2 * depth fits int32 for a depth of at most 133,000.
inline constexpr float kLargestInt8 = 127;

// The factor that turns floats of at most `largest` into numbers of at most largest_number. If the
// quotient would not be finite, the factor is 0: then all numbers become 0.
inline float int8_factor(float largest, float largest_number = kLargestInt8) {
  return largest > 1e-30f && largest <= std::numeric_limits<float>::max() ? largest_number / largest
                                                                          : 0;
}

// One panel of the right factor, packed. Scales and beginnings exist for all of its columns.
struct Int8Columns {
  const int8_t* values;      // as Int8Loops::group says
  const float* scales;       // 0 beyond the last column of the factor
  const int32_t* beginning;  // what each sum begins with
};

// The inner loops of int8 products. They work on the calling thread.
struct Int8Loops {
  const char* name;
  const char* instruction_set;  // as CpuLoops names it; "amx" is one of its own
  // The most rows and columns that multiply() takes at once, as the registers want.
  int64_t panel_rows, panel_columns;
  // Element (column, d) of a panel of columns is at (d / group * panel_columns + column) * group +
  // d % group. Both factors are filled with zeros up to a multiple of depth_multiple.
  int64_t group, depth_multiple;
  // The size of a number of the left factor, as quantize() writes it.
  int64_t row_element_bytes;
  // The largest number of a column. Fewer bits than eight let some sums fit smaller integers.
  float largest_column = kLargestInt8;
  // quantize() adds this to the numbers of a row. So sums begin with minus this times the sum of
  // the column.
  int32_t row_offset = 0;

  int64_t padded(int64_t depth) const {
    return (depth + depth_multiple - 1) / depth_multiple * depth_multiple;
  }

  // Writes x [depth] as numbers, and zeros up to the padded depth. Returns the scale: the largest
  // |x| divided by 127, which is not finite if one of x is not.
  float (*quantize)(const float* x, int64_t depth, std::byte* row);

  // C [rows, columns] = addend + row_scales * columns.scales * (the product over `depth`, which is
  // padded). The rows of the left factor are row_stride bytes apart, and the rows of C are c_stride
  // elements apart. Memory for panel_rows rows must be readable.
  void (*multiply)(const std::byte* rows_at, int64_t row_stride, const float* row_scales,
                   const Int8Columns& columns_panel, int64_t depth, int64_t rows, int64_t columns,
                   const Addend& addend, float* c, int64_t c_stride);

  // The preparation and the cleanup of a thread around calls of multiply; null: nothing is needed.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
};

namespace int8_portable {
extern const Int8Loops loops;  // for any CPU; slower than fp32
}
namespace int8_avx2 {
extern const Int8Loops loops;  // x86-64 with AVX2
}
namespace int8_avx512 {
extern const Int8Loops loops;  // x86-64 with AVX512_VNNI
}
namespace int8_amx {
extern const Int8Loops loops;  // x86-64 with AMX_INT8, after the system permitted tiles
}

// Packs `columns` rows of w [columns, depth], which are the columns of the right factor, into one
// panel: values [padded depth * panel_columns], scales and beginning [panel_columns].
void pack_int8_columns(const Int8Loops& loops, const float* w, int64_t columns, int64_t depth,
                       int8_t* values, float* scales, int32_t* beginning);

// Computes a small product and returns whether it is right.
bool multiplies(const Int8Loops& loops);

// The loops that this CPU has, best first; never empty. Loops that fail multiplies() are left out.
std::vector<const Int8Loops*> supported_int8_loops();

// The loops for the named instruction set, or the best ones if none is named. The loops for any CPU
// if this CPU lacks the named instructions.
const Int8Loops& pick_int8_loops(std::string_view instruction_set);

}  // namespace berth
