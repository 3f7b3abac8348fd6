#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

// The factors of bf16 products are packed into panels. A panel holds some lanes of a factor: rows
// of the left factor, or columns of the right one. "Depth" is the index over which a product sums.
// Element (lane, d) of a panel of columns is at (d / 2 * kPanelColumns + lane) * 2 + d % 2, because
// all instruction sets multiply pairs along the depth. Elements beyond the lanes and the depth of
// the factor are 0.
inline constexpr int64_t kPanelColumns = 32;

// Some lanes of a row-major factor in fp32 or bf16. One of the two strides is 1.
struct Lanes {
  const void* data;
  int64_t lane_stride, depth_stride;
  int64_t count;
  int64_t depth;
  bool is_bf16 = false;

  int64_t element_bytes() const { return is_bf16 ? 2 : 4; }
  const std::byte* at(int64_t lane, int64_t d) const {
    return static_cast<const std::byte*>(data) +
           (lane * lane_stride + d * depth_stride) * element_bytes();
  }
};

// To what a product is added: rows that are `stride` apart, or one row for all where stride is 0.
// Null stands for zeros.
struct Addend {
  const float* data = nullptr;
  int64_t stride = 0;
};

// What a product does between two steps of its inner loop; null: nothing.
struct Between {
  void (*step)(void* context) = nullptr;
  void* context = nullptr;
};

// The inner loops of bf16 products with fp32 sums. They work on the calling thread.
struct Bf16Loops {
  const char* name;
  // The number of rows in a panel, and a divisor of the depth of all panels: as the registers want.
  // The order inside a panel of rows is private to the loops. Panels are filled with zeros up to a
  // multiple of depth_multiple.
  int64_t panel_rows, depth_multiple;
  // Whether products are so fast that packing their weights for each product would slow training.
  bool wants_packed_weights = false;

  int64_t padded(int64_t depth) const {
    return (depth + depth_multiple - 1) / depth_multiple * depth_multiple;
  }

  // Packs lanes, rounding fp32 to nearest with ties to even: rows into panels of panel_rows lanes
  // that follow one another, columns into one panel of at most kPanelColumns lanes.
  void (*pack_rows)(const Lanes& lanes, uint16_t* panels);
  void (*pack_columns)(const Lanes& lanes, uint16_t* panel);

  // C = addend + the product of a panel of rows and a panel of columns over `depth`, which is
  // padded. C is [rows,columns] with rows c_stride apart; the addend may be C. The sum of an
  // element does not depend on the number of rows and columns.
  void (*multiply)(const uint16_t* rows_panel, const uint16_t* columns_panel, int64_t depth,
                   int64_t rows, int64_t columns, const Addend& addend, float* c, int64_t c_stride);

  // The same for panel_rows rows of bf16 that are read where they lie, `row_stride` elements apart.
  // `depth` is a multiple of depth_multiple. Null where rows must be packed.
  void (*multiply_in_place)(const uint16_t* rows, int64_t row_stride, const uint16_t* columns_panel,
                            int64_t depth, int64_t columns, const Addend& addend, float* c,
                            int64_t c_stride, const Between& between) = nullptr;

  // What a thread must do before and after calls of multiply; null: nothing.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;

  // As pack_columns, but writes past the caches, for panels that are read much later. Other threads
  // see the panels after end_streaming. Null where the instruction set has no such stores.
  void (*stream_columns)(const Lanes& lanes, uint16_t* panel) = nullptr;
  // Rounds kPanelColumns numbers and writes them past the caches, to a cache line.
  void (*stream_row)(const float* x, uint16_t* y) = nullptr;
  void (*end_streaming)() = nullptr;
};

// Calls pack(lanes of one panel, panel) for one panel of rows after the other.
template <typename Pack>
void for_each_panel(const Bf16Loops& loops, const Lanes& lanes, uint16_t* panels,
                    const Pack& pack) {
  for (int64_t first = 0; first < lanes.count; first += loops.panel_rows) {
    Lanes panel = lanes;
    panel.data = lanes.at(first, 0);
    panel.count = std::min(loops.panel_rows, lanes.count - first);
    pack(panel, panels + first * loops.padded(lanes.depth));
  }
}

namespace bf16_portable {
extern const Bf16Loops loops;  // for tests; slower than fp32
}
namespace bf16_avx512 {
extern const Bf16Loops loops;  // x86-64 with AVX512_BF16 only
}
namespace bf16_amx {
extern const Bf16Loops
    loops;  // x86-64 with AMX_BF16 and AVX512_BF16 only, after the system permitted tiles
}

// Computes a small product and returns whether it is right.
bool multiplies(const Bf16Loops& loops);

// The loops for whose instructions this CPU was made, best first. Loops that fail multiplies() are
// left out.
std::vector<const Bf16Loops*> native_bf16_loops();

}  // namespace berth
