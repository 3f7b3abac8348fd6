#include "trainer/cpu/kernels/bf16/bf16_loops.h"

#include "trainer/cpu/kernels/instruction_set.h"
#include "trainer/cpu/kernels/tile_registers.h"

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
