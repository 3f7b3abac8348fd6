#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

// Instructions of AMX on its eight tiles. They are written as assembler, because GCC's intrinsics
// are macros that need the number of a tile as a literal. Only for files that run where
// has_tile_registers() is true.
struct AmxTiles {
  template <int kTile>
  static void load(const void* from, size_t stride_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  static void store(void* to, size_t stride_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride_bytes), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
};

// The operand of LDTILECFG: all eight tiles have their full size.
struct alignas(64) AmxTileConfig {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(AmxTileConfig) == 64);

// What a thread does before and after it uses tiles.
inline void begin_amx() {
  static constexpr AmxTileConfig kConfig;
  asm volatile("ldtilecfg %0" ::"m"(kConfig));
}
inline void end_amx() { asm volatile("tilerelease"); }

}  // namespace berth
