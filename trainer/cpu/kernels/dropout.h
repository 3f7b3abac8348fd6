#pragma once

#include <cstdint>
#include <optional>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/kernels/loops.h"

namespace berth {

// A Dropout as the loops take it, in the current micro-batch; nullopt where nothing is dropped.
std::optional<DropoutDraw> draw_of(const Dropout& dropout, const StepState& state);

// The same draw for the rows from `row` on.
struct RowDraw {
  RowDraw(const std::optional<DropoutDraw>& draw, int64_t row) : draw_(draw) {
    if (!draw_) return;
    if (draw_->tokens != nullptr) {
      draw_->tokens += row;
    } else {
      draw_->first_row += static_cast<uint64_t>(row);
    }
  }
  const DropoutDraw* get() const { return draw_ ? &*draw_ : nullptr; }

 private:
  std::optional<DropoutDraw> draw_;
};

}  // namespace berth
