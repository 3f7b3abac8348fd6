#include "trainer/cpu/kernels/int8/int8_loops.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "trainer/cpu/kernels/instruction_set.h"

namespace berth {

void pack_int8_columns(const Int8Loops& loops, const float* w, int64_t columns, int64_t depth,
                       int8_t* values, float* scales, int32_t* beginning) {
  const int64_t width = loops.panel_columns, group = loops.group, whole = loops.padded(depth);
  assert(columns <= width);
  std::fill_n(values, whole * width, int8_t{0});
  std::fill_n(scales, width, 0.0f);
  std::fill_n(beginning, width, 0);
  for (int64_t column = 0; column < columns; ++column) {
    const float* const x = w + column * depth;
    // 1. scale = the largest |w| of the output / the largest integer; NaN where a number is not
    // finite.
    float largest = 0;
    bool is_finite = true;
    for (int64_t d = 0; d < depth; ++d) {
      largest = std::max(largest, std::fabs(x[d]));
      is_finite = is_finite && std::isfinite(x[d]);
    }
    scales[column] = is_finite ? largest / loops.largest_column : NAN;
    const float factor = is_finite ? int8_factor(largest, loops.largest_column) : 0;
    if (factor == 0) continue;
    // 2. Rounded to the nearest integer, in groups of `group` depths that lie side by side.
    int32_t sum = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const auto number = static_cast<int8_t>(std::lrint(x[d] * factor));
      values[(d / group * width + column) * group + d % group] = number;
      sum += number;
    }
    // Rows are stored with `row_offset` added, which adds row_offset * sum to every product.
    beginning[column] = -loops.row_offset * sum;
  }
}

bool multiplies(const Int8Loops& loops) {
  constexpr int64_t kDepth = 70;
  const int64_t rows = loops.panel_rows, columns = loops.panel_columns;
  const int64_t depth = loops.padded(kDepth), stride = depth * loops.row_element_bytes;
  // The largest number of each row and column is the largest that there may be, so that every scale
  // is 1.
  const auto number = [](int64_t i, int64_t d, int64_t largest) {
    const int64_t some = (i * 5 + d * 11) % (2 * largest + 1) - largest;
    return static_cast<float>(d == i % kDepth ? largest : some);
  };
  const auto left_value = [&](int64_t row, int64_t d) { return number(row, d, 127); };
  const auto right_value = [&](int64_t column, int64_t d) {
    return number(column + 3, d, static_cast<int64_t>(loops.largest_column));
  };
  // 1. Rows as the loops quantize them.
  std::vector<std::byte> left(static_cast<size_t>(rows * stride));
  std::vector<float> row_scales(static_cast<size_t>(rows)), right, x(kDepth);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t d = 0; d < kDepth; ++d) x[static_cast<size_t>(d)] = left_value(row, d);
    row_scales[static_cast<size_t>(row)] =
        loops.quantize(x.data(), kDepth, left.data() + row * stride);
  }
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t d = 0; d < kDepth; ++d) right.push_back(right_value(column, d));
  }
  // 2. One packed panel of columns.
  std::vector<int8_t> values(static_cast<size_t>(depth * columns));
  std::vector<float> scales(static_cast<size_t>(columns)), c(static_cast<size_t>(rows * columns));
  std::vector<int32_t> beginning(static_cast<size_t>(columns));
  pack_int8_columns(loops, right.data(), columns, kDepth, values.data(), scales.data(),
                    beginning.data());
  // 3. The product, against a plain sum.
  if (loops.begin != nullptr) loops.begin();
  loops.multiply(left.data(), stride, row_scales.data(),
                 {values.data(), scales.data(), beginning.data()}, depth, rows, columns, {},
                 c.data(), columns);
  if (loops.end != nullptr) loops.end();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      float sum = 0;  // of integers below 2^24, so without an error
      for (int64_t d = 0; d < kDepth; ++d) sum += left_value(row, d) * right_value(column, d);
      if (c[static_cast<size_t>(row * columns + column)] != sum) return false;
    }
  }
  return true;
}

std::vector<const Int8Loops*> supported_int8_loops() {
  std::vector<const Int8Loops*> supported;
#if defined(__x86_64__)
  const std::vector<const CpuLoops*> sets = supported_loops();
  const bool has_avx512 = sets.front() == &avx512::loops;
  if (has_avx512 && has_tile_registers(TileNumbers::kInt8)) supported.push_back(&int8_amx::loops);
  if (has_avx512 && __builtin_cpu_supports("avx512vnni")) supported.push_back(&int8_avx512::loops);
  if (std::ranges::find(sets, &avx2::loops) != sets.end()) supported.push_back(&int8_avx2::loops);
#endif
  std::erase_if(supported, [](const Int8Loops* loops) { return !multiplies(*loops); });
  supported.push_back(&int8_portable::loops);
  return supported;
}

const Int8Loops& pick_int8_loops(std::string_view instruction_set) {
  const std::vector<const Int8Loops*> supported = supported_int8_loops();
  const auto found = std::ranges::find_if(supported, [&](const Int8Loops* loops) {
    return instruction_set.empty() || instruction_set == loops->instruction_set;
  });
  return found == supported.end() ? int8_portable::loops : **found;
}

}  // namespace berth

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
