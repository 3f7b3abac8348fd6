#include "trainer/cpu/kernels/bf16/bf16_loops.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "trainer/cpu/kernels/instruction_set.h"

namespace berth {
namespace {

#if defined(__x86_64__)

bool has_avx512_bf16() {
  return supported_loops().front() == &avx512::loops && __builtin_cpu_supports("avx512bf16");
}

bool has_amx_bf16() {
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24;  // of EDX
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAmxBf16) != 0 &&
         (edx & kAmxTile) != 0;
}

// Asks Linux for permission to use the tiles. A process must ask, because the tiles take 8 KiB for
// each thread (Documentation/arch/x86/xstate.rst in the sources of Linux).
bool is_permitted_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#endif

}  // namespace

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
  if (!has_avx512_bf16()) return native;
  if (has_amx_bf16() && is_permitted_tiles()) native.push_back(&bf16_amx::loops);
  native.push_back(&bf16_avx512::loops);
  std::erase_if(native, [](const Bf16Loops* loops) { return !multiplies(*loops); });
#endif
  return native;
}

}  // namespace berth
