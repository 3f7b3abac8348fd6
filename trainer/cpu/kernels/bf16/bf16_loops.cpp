#include "trainer/cpu/kernels/bf16/bf16_loops.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "trainer/cpu/kernels/instruction_set.h"

namespace berth {
bool multiplies(const Bf16Loops& loops) {
  constexpr int64_t kMostRows = 32, kDepth = 45;
  const int64_t rows = loops.panel_rows, depth = loops.padded(kDepth);
  const auto value = [](int64_t i, int64_t d) { return static_cast<float>((i * 5 + d) % 7 - 3); };
  std::vector<float> left, right, sums(static_cast<size_t>(kMostRows * kPanelColumns), 1.0f);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t d = 0; d < kDepth; ++d) left.push_back(value(row, d));
  }
  for (int64_t d = 0; d < kDepth; ++d) {
    for (int64_t column = 0; column < kPanelColumns; ++column) right.push_back(value(column, d));
  }
  // left [rows,45], right [45,32], and sums that begin as 1. All numbers are small integers, so
  // bf16 and fp32 hold them exactly.
  std::vector<uint16_t> row_panel(static_cast<size_t>(rows * depth));
  std::vector<uint16_t> column_panel(static_cast<size_t>(kPanelColumns * depth));
  loops.pack_rows({left.data(), kDepth, 1, rows, kDepth}, row_panel.data());
  loops.pack_columns({right.data(), 1, kPanelColumns, kPanelColumns, kDepth}, column_panel.data());
  if (loops.begin != nullptr) loops.begin();
  loops.multiply(row_panel.data(), column_panel.data(), depth, rows, kPanelColumns,
                 {sums.data(), kPanelColumns}, sums.data(), kPanelColumns);
  if (loops.end != nullptr) loops.end();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < kPanelColumns; ++column) {
      float sum = 1;
      for (int64_t d = 0; d < kDepth; ++d) sum += value(row, d) * value(column, d);
      if (sums[static_cast<size_t>(row * kPanelColumns + column)] != sum) return false;
    }
  }
  return true;
}

std::vector<const Bf16Loops*> native_bf16_loops() {
  std::vector<const Bf16Loops*> native;
#if defined(__x86_64__)
  const bool has_avx512 = supported_loops().front() == &avx512::loops;
  if (!has_avx512 || !__builtin_cpu_supports("avx512bf16")) return native;
  if (has_tile_registers(TileNumbers::kBf16)) native.push_back(&bf16_amx::loops);
  native.push_back(&bf16_avx512::loops);
  std::erase_if(native, [](const Bf16Loops* loops) { return !multiplies(*loops); });
#endif
  return native;
}

}  // namespace berth

namespace berth::bf16_portable {
namespace {

constexpr int64_t kPanelRows = 12;

int64_t even(int64_t depth) { return (depth + 1) / 2 * 2; }

uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// An element of a factor, rounded.
uint16_t rounded(const Lanes& lanes, int64_t lane, int64_t d) {
  const std::byte* const at = lanes.at(lane, d);
  if (lanes.is_bf16) {
    uint16_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, at, sizeof value);
  return to_bf16(value);
}

float to_float(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

template <int64_t kWidth>
void pack(const Lanes& lanes, uint16_t* panel) {
  for (int64_t d = 0; d < even(lanes.depth); ++d) {
    for (int64_t lane = 0; lane < kWidth; ++lane) {
      const bool exists = lane < lanes.count && d < lanes.depth;
      panel[(d / 2 * kWidth + lane) * 2 + d % 2] = exists ? rounded(lanes, lane, d) : uint16_t{0};
    }
  }
}

void pack_rows(const Lanes& lanes, uint16_t* panels) {
  for_each_panel(loops, lanes, panels, pack<kPanelRows>);
}

void multiply(const uint16_t* a, const uint16_t* b, int64_t depth, int64_t rows, int64_t columns,
              const Addend& addend, float* c, int64_t c_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t n = 0; n < columns; ++n) {
      float sum = 0;
      for (int64_t d = 0; d < depth; d += 2) {
        const uint16_t* const x = a + (d / 2 * kPanelRows + r) * 2;
        const uint16_t* const y = b + (d / 2 * kPanelColumns + n) * 2;
        sum += to_float(x[1]) * to_float(y[1]);
        sum += to_float(x[0]) * to_float(y[0]);
      }
      c[r * c_stride + n] = addend.data ? addend.data[r * addend.stride + n] + sum : sum;
    }
  }
}

}  // namespace

const Bf16Loops loops = {.name = "bf16-emulated",
                         .panel_rows = kPanelRows,
                         .depth_multiple = 2,
                         .wants_packed_weights = true,  // like AMX, which it replaces in tests
                         .pack_rows = pack_rows,
                         .pack_columns = pack<kPanelColumns>,
                         .multiply = multiply};

}  // namespace berth::bf16_portable
