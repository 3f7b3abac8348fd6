#include <algorithm>

#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::AttentionShape;
using reference::Vector;

constexpr int32_t kTableRows = 7;  // of the table

// A row for each distance up to 1, and one for longer ones, on each side.
std::vector<int32_t> rows_of_distances(int32_t longest) {
  std::vector<int32_t> rows;
  for (int32_t distance = 1 - longest; distance < longest; ++distance) {
    rows.push_back(std::min(std::abs(distance), 2) + (distance < 0 ? 3 : 0));
  }
  return rows;
}

class PositionBiasAttention : public KernelsTest {
 protected:
  // Compares the gradient's part along some random directions, where there are so many elements
  // that a difference for each of them would take seconds.
  template <typename Function>
  void check_along_directions(const Function& f, const Vector& x, const Vector& dy,
                              const Vector& gradient) {
    constexpr double kStep = 1e-4;
    for (int i = 0; i < 6; ++i) {
      const Vector direction = random(std::ssize(x));
      Vector before = x, after = x;
      double expected = 0, along = 0;
      for (size_t e = 0; e < x.size(); ++e) {
        before[e] -= kStep * direction[e];
        after[e] += kStep * direction[e];
        along += gradient[e] * direction[e];
      }
      const Vector low = f(before), high = f(after);
      for (size_t e = 0; e < dy.size(); ++e) {
        expected += dy[e] * (high[e] - low[e]) / (2 * kStep);
      }
      EXPECT_NEAR(along, expected, 1e-4 * std::sqrt(static_cast<double>(x.size())));
    }
  }

  void check(const AttentionShape& shape, int32_t longest) {
    begin(shape.inputs, shape.first_token);
    const int64_t tokens = shape.tokens(), hidden = shape.hidden(), heads = shape.heads;
    const std::vector<int32_t> rows = rows_of_distances(longest);
    const Vector qkv = random(tokens * 3 * hidden), table = random(kTableRows * heads);
    const Vector dout = random(tokens * hidden), dbefore = random(kTableRows * heads);
    const AttentionInputs inputs{.qkv = tensor({tokens, 3 * hidden}, qkv),
                                 .cu_seqlens = ids(shape.cu_seqlens),
                                 .num_heads = static_cast<int>(heads),
                                 .bias = {tensor({kTableRows, heads}, table), ids(rows)},
                                 .dropout = shape.dropout};
    const Tensor out = garbage({tokens, hidden}), log_sum_exp = garbage({tokens, heads});
    kernels().attention_forward(inputs, *state_, out, log_sum_exp);
    expect_near(out, reference::biased_attention(shape, qkv, table, rows), 1e-5, "out");

    const Tensor dqkv = garbage({tokens, 3 * hidden}), dbias = tensor({kTableRows, heads}, dbefore);
    kernels().attention_backward(tensor({tokens, hidden}, dout), inputs, *state_, out, log_sum_exp,
                                 {.dqkv = dqkv, .dbias = dbias});
    const auto of_qkv = [&](const Vector& x) {
      return reference::biased_attention(shape, x, table, rows);
    };
    if (tokens <= 32) {
      expect_near(dqkv, reference::numeric_gradient(of_qkv, qkv, dout), 2e-5, "dqkv");
    } else {
      check_along_directions(of_qkv, qkv, dout, values(dqkv));
    }
    Vector sums = reference::numeric_gradient(
        [&](const Vector& x) { return reference::biased_attention(shape, qkv, x, rows); }, table,
        dout);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += dbefore[i];
    expect_near(dbias, sums, 5e-5, "dbias");

    const Tensor again = garbage({tokens, 3 * hidden});
    kernels().attention_backward(tensor({tokens, hidden}, dout), inputs, *state_, out, log_sum_exp,
                                 {.dqkv = again});
    EXPECT_EQ(floats(again), floats(dqkv)) << "a table that does not learn";
  }
};

TEST_P(PositionBiasAttention, AgreesWithItsDefinition) {
  check({{0, 1}, 1, 8, {}, {}}, 1);
  check({{0, 3, 3, 4, 9}, 3, 4, {}, {}}, 7);
  check({{0, 6, 9}, 2, 8, {.p = 0.3f, .site = 12}, {.seed = 3, .step = 4}, 1000}, 6);
}

// Takes more queries than a block holds.
TEST_P(PositionBiasAttention, OfLongSequencesAgrees) {
  check({{0, 133}, 1, 2, {.p = 0.1f, .site = 1}, {.seed = 1}, 5}, 140);
}

BERTH_INSTANTIATE_KERNELS(PositionBiasAttention);

}  // namespace
}  // namespace berth
