#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/cpu/kernels/int8/int8_loops.h"

namespace berth::int8_portable {
namespace {

constexpr int64_t kRows = 4, kColumns = 16, kGroup = 4;

float quantize(const float* x, int64_t depth, std::byte* row) {
  float largest = 0;
  bool is_finite = true;
  for (int64_t d = 0; d < depth; ++d) {
    largest = std::max(largest, std::fabs(x[d]));
    is_finite = is_finite && std::isfinite(x[d]);
  }
  std::fill_n(row, loops.padded(depth), std::byte{0});
  if (!is_finite) return NAN;
  const float factor = int8_factor(largest);
  for (int64_t d = 0; d < depth; ++d) {
    const float number = std::clamp(x[d] * factor, -kLargestInt8, kLargestInt8);
    row[d] = static_cast<std::byte>(static_cast<int8_t>(std::lrint(number)));
  }
  return largest / kLargestInt8;
}

void multiply(const std::byte* rows_at, int64_t row_stride, const float* row_scales,
              const Int8Columns& panel, int64_t depth, int64_t rows, int64_t columns,
              const Addend& addend, float* c, int64_t c_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* const row = rows_at + r * row_stride;
    for (int64_t n = 0; n < columns; ++n) {
      int32_t sum = panel.beginning[n];
      for (int64_t d = 0; d < depth; ++d) {
        sum += static_cast<int8_t>(row[d]) *
               panel.values[(d / kGroup * kColumns + n) * kGroup + d % kGroup];
      }
      const float product = static_cast<float>(sum) * (row_scales[r] * panel.scales[n]);
      c[r * c_stride + n] = addend.data ? addend.data[r * addend.stride + n] + product : product;
    }
  }
}

}  // namespace

const Int8Loops loops = {.name = "int8",
                         .instruction_set = "baseline",
                         .panel_rows = kRows,
                         .panel_columns = kColumns,
                         .group = kGroup,
                         .depth_multiple = kGroup,
                         .row_element_bytes = 1,
                         .quantize = quantize,
                         .multiply = multiply};

}  // namespace berth::int8_portable
