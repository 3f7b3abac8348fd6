#include "trainer/cpu/kernels/dropout.h"

#include <algorithm>
#include <cmath>

#include "storage/base/philox.h"

namespace berth {
namespace {

uint64_t first_row_of(const Dropout& dropout, const StepState& state) {
  switch (dropout.rows) {
    case DropoutRows::kSequences:
      return state.first_sequence;
    case DropoutRows::kTable:
      return dropout.first_row;
    case DropoutRows::kTokens:
      break;
  }
  return state.first_token;
}

}  // namespace

std::optional<DropoutDraw> draw_of(const Dropout& dropout, const StepState& state) {
  if (dropout.p <= 0) return std::nullopt;
  assert(dropout.p < 1);
  const auto key = philox_key(state.inputs.seed, state.inputs.step, dropout.site);
  const auto threshold = static_cast<uint32_t>(
      std::min(65535L, std::lround(static_cast<double>(dropout.p) * 65536.0)));
  return DropoutDraw{.key = {key[0], key[1]},
                     .first_row = first_row_of(dropout, state),
                     .tokens = dropout.tokens ? dropout.tokens.i32() : nullptr,
                     .threshold = threshold,
                     .scale = 65536.0f / static_cast<float>(65536u - threshold)};
}

void Kernels::dropout(ConstTensor x, const Dropout& dropout, const StepState& state, Tensor y) {
  const ProfileScope scope(pool_.profiler(), "dropout", bytes_of({x, y}));
  const int64_t rows = x.rows(), columns = x.columns();
  const std::optional<DropoutDraw> draw = draw_of(dropout, state);
  if (!draw && x.data == y.data) return;
  parallel(rows, row_grain(columns), [&](int64_t begin, int64_t end, int) {
    std::vector<float> room(static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * columns;
      const float* const from = widened(x, at, columns, room.data());
      const RowDraw row_draw(draw, row);
      if (row_draw.get() == nullptr) {
        keep_row(from, y, at, columns);
        continue;
      }
      float* const to = y.dtype == DType::kF32 ? y.f32() + at : room.data();
      loops_.dropout(from, *row_draw.get(), 1, columns, to);
      keep_row(to, y, at, columns);
    }
  });
}

}  // namespace berth
