#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace berth {

// Factors of bf16 products lie in panels: rows of the left, columns of the right factor, called
// lanes here, over depth, the index that is summed over. Element (lane, d) of a panel of columns is
// at (d / 2 * kPanelColumns + lane) * 2 + d % 2: pairs of depth, which is what every instruction
// set multiplies by. What is beyond the factor's lanes and depth is 0.
inline constexpr int64_t kPanelColumns = 32;

// Some lanes of an fp32 factor, row-major: of its two strides one is 1.
struct Lanes {
  const float* data;
  int64_t lane_stride, depth_stride;
  int64_t count;
  int64_t depth;
};

// What a product is added to: rows `stride` apart, of stride 0 one for all; null: zeros.
struct Addend {
  const float* data = nullptr;
  int64_t stride = 0;
};

// The inner loops of bf16 products with fp32 sums, on the calling thread.
struct Bf16Loops {
  const char* name;
  // As many rows, and a depth of so many, as the registers take. Panels of rows lie as the loops
  // like; both kinds are filled up with zeros to a multiple of the depth.
  int64_t panel_rows, depth_multiple;
  // Whether products take so little time that packing their weights anew is felt in training.
  bool wants_packed_weights = false;

  int64_t padded(int64_t depth) const {
    return (depth + depth_multiple - 1) / depth_multiple * depth_multiple;
  }

  // Rounds to nearest, ties to even. Panels of panel_rows lanes, one after the other, or one of at
  // most kPanelColumns.
  void (*pack_rows)(const Lanes& lanes, uint16_t* panels);
  void (*pack_columns)(const Lanes& lanes, uint16_t* panel);

  // C [rows,columns], rows c_stride apart, = the addend, which may be C, + the product of a panel
  // of rows and one of columns over `depth`, a padded one. An element's sum does not depend on rows
  // and columns.
  void (*multiply)(const uint16_t* rows_panel, const uint16_t* columns_panel, int64_t depth,
                   int64_t rows, int64_t columns, const Addend& addend, float* c, int64_t c_stride);

  // What a thread does before and after calls of multiply; null: nothing.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;

  // pack_columns past the caches, for panels that are read much later; other threads see them after
  // end_streaming. Null: there is no way past.
  void (*stream_columns)(const Lanes& lanes, uint16_t* panel) = nullptr;
  void (*end_streaming)() = nullptr;
};

// Calls pack(lanes of one panel, panel) for panels of rows one after the other.
template <typename Pack>
void for_each_panel(const Bf16Loops& loops, const Lanes& lanes, uint16_t* panels,
                    const Pack& pack) {
  for (int64_t first = 0; first < lanes.count; first += loops.panel_rows) {
    Lanes panel = lanes;
    panel.data += first * lanes.lane_stride;
    panel.count = std::min(loops.panel_rows, lanes.count - first);
    pack(panel, panels + first * loops.padded(lanes.depth));
  }
}

namespace bf16_portable {
extern const Bf16Loops loops;  // to test against: slower than fp32
}
namespace bf16_avx512 {
extern const Bf16Loops loops;  // x86-64 with AVX512_BF16 only
}
namespace bf16_amx {
extern const Bf16Loops loops;  // x86-64 with AMX_BF16 and AVX512_BF16 only, once it is permitted
}

// Whether a small product is what it should be.
bool multiplies(const Bf16Loops& loops);

// Those that this CPU has instructions for, best first, those that fail multiplies() left out.
std::vector<const Bf16Loops*> native_bf16_loops();

}  // namespace berth
