#include <cassert>

#include "trainer/cpu/kernels/bf16/bf16_products.h"

namespace berth {

uint16_t* Bf16Matrix::panel(int64_t column) const {
  assert(column % kPanelColumns == 0);
  return reinterpret_cast<uint16_t*>(panels.data()) + column * panel_depth;
}

Bf16Part Bf16Matrix::columns_from(int64_t first, int64_t count) const {
  assert(first + count <= columns);
  return {.depth = depth, .columns = count, .panel_depth = panel_depth, .panels = panel(first)};
}

// Pairs of depths follow one another in a panel, so depths from an even number on are a part of it.
Bf16Part Bf16Matrix::depths_from(int64_t first, int64_t count) const {
  assert(first % kPanelColumns == 0 && first + count <= depth);
  return {.depth = count,
          .columns = columns,
          .panel_depth = panel_depth,
          .panels = panel(0) + first * kPanelColumns};
}

}  // namespace berth
