// This file is compiled with AVX512_BF16 and contains instructions of AMX_BF16. It runs only where
// native_bf16_loops() found both.
#include <immintrin.h>

#include "trainer/cpu/kernels/amx_tiles.h"
#include "trainer/cpu/kernels/bf16/avx512_pairs.h"
#include "trainer/cpu/kernels/bf16/bf16_loops.h"
#include "trainer/cpu/kernels/bf16/tile_loops.h"

namespace berth::bf16_amx {
namespace {

struct Amx : AmxTiles {
  template <int kC, int kA, int kB>
  static void dot() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kC), "i"(kA), "i"(kB));
  }
};

// Returns the pairs of 32 depths of sixteen lanes, lane by lane.
Vectors pairs_of_lanes(const Lanes& lanes, int64_t first, int64_t d) {
  if (lanes.depth_stride == 1) {
    prefetch_contiguous(lanes, first + kTilePanelRows, kTileSide, d);
    return contiguous_pairs_of<kTileSide>(lanes, first, d);
  }
  prefetch_adjacent(lanes, first, d + kTileDepth, kTileDepth);
  const __mmask16 read = first_lanes(lanes.count - first);
  Vectors pairs;
  for (int64_t p = 0; p < 16; ++p) {
    pairs[static_cast<size_t>(p)] = adjacent_pairs_of(lanes, first, read, d + 2 * p);
  }
  return transpose(pairs);
}

void pack_panel_of_rows(const Lanes& lanes, uint16_t* panel) {
  for (int64_t d = 0; d < lanes.depth; d += kTileDepth) {
    for (int64_t first = 0; first < kTilePanelRows; first += kTileSide) {
      const Vectors pairs = pairs_of_lanes(lanes, first, d);
      for (int64_t i = 0; i < kTileSide; ++i) {
        _mm512_storeu_si512(panel + (d + first + i) * kTileDepth, pairs[static_cast<size_t>(i)]);
      }
    }
  }
}

void pack_rows(const Lanes& lanes, uint16_t* panels) {
  for_each_panel(loops, lanes, panels, pack_panel_of_rows);
}

void fill_up(const Lanes& lanes, uint16_t* panel) {
  const int64_t packed = bf16_avx512::loops.padded(lanes.depth), whole = loops.padded(lanes.depth);
  std::fill(panel + packed * kPanelColumns, panel + whole * kPanelColumns, uint16_t{0});
}

void pack_columns(const Lanes& lanes, uint16_t* panel) {
  bf16_avx512::loops.pack_columns(lanes, panel);
  fill_up(lanes, panel);
}

void stream_columns(const Lanes& lanes, uint16_t* panel) {
  bf16_avx512::loops.stream_columns(lanes, panel);
  fill_up(lanes, panel);
}

void stream_row(const float* x, uint16_t* y) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(y),
                      pairs_of(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16)));
}

void end_streaming() { _mm_sfence(); }

}  // namespace

const Bf16Loops loops = {.name = "bf16-amx",
                         .panel_rows = kTilePanelRows,
                         .depth_multiple = kTileDepth,
                         .wants_packed_weights = true,
                         .pack_rows = pack_rows,
                         .pack_columns = pack_columns,
                         .multiply = multiply_tiles<Amx>,
                         .multiply_in_place = multiply_tiles_in_place<Amx>,
                         .begin = begin_amx,
                         .end = end_amx,
                         .stream_columns = stream_columns,
                         .stream_row = stream_row,
                         .end_streaming = end_streaming};

}  // namespace berth::bf16_amx
