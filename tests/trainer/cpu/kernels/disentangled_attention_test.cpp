#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::AttentionShape;
using reference::Vector;

// The row of each distance from 1 - longest to longest - 1. Distances of at most `near` have a row
// each; longer distances share rows, three to a row.
std::vector<int32_t> bucketed(int32_t longest, int32_t near) {
  const auto row_of = [near](int32_t distance) {
    const int32_t far = near + (std::abs(distance) - near) / 3;
    if (std::abs(distance) <= near) return distance;
    return distance < 0 ? -far : far;
  };
  std::vector<int32_t> rows;
  for (int32_t distance = 1 - longest; distance < longest; ++distance) {
    rows.push_back(row_of(distance) - row_of(1 - longest));
  }
  return rows;
}

class DisentangledAttention : public KernelsTest {
 protected:
  struct Forward {
    Tensor qkv, cu_seqlens, out, log_sum_exp;
    RelativePositionInputs relative;
  };
  struct Backward {
    Tensor dqkv, dposition_qk;
  };

  static AttentionInputs inputs(const AttentionShape& shape, const Forward& made) {
    return {.qkv = made.qkv,
            .cu_seqlens = made.cu_seqlens,
            .num_heads = static_cast<int>(shape.heads),
            .relative = made.relative,
            .dropout = shape.dropout};
  }
  Forward forward(const AttentionShape& shape, const Vector& qkv, const Vector& position_qk,
                  const std::vector<int32_t>& rows) {
    begin(shape.inputs, shape.first_token);
    const int64_t tokens = shape.tokens(), hidden = shape.hidden();
    const int64_t positions = rows.back() + 1;
    const Forward made{tensor({tokens, 3 * hidden}, qkv),
                       ids(shape.cu_seqlens),
                       garbage({tokens, hidden}),
                       garbage({tokens, shape.heads}),
                       {tensor({positions, 2 * hidden}, position_qk), ids(rows)}};
    kernels().attention_forward(inputs(shape, made), *state_, made.out, made.log_sum_exp);
    return made;
  }
  Backward backward(const AttentionShape& shape, const Forward& made, const Vector& dout) {
    const int64_t tokens = shape.tokens(), hidden = shape.hidden();
    const Backward gradients{garbage({tokens, 3 * hidden}),
                             garbage({made.relative.qk.rows(), 2 * hidden})};
    kernels().attention_backward(tensor({tokens, hidden}, dout), inputs(shape, made), *state_,
                                 made.out, made.log_sum_exp,
                                 {.dqkv = gradients.dqkv, .drelative_qk = gradients.dposition_qk});
    return gradients;
  }

  void check(const AttentionShape& shape, const std::vector<int32_t>& rows) {
    const Vector qkv = random(shape.tokens() * 3 * shape.hidden());
    const Vector position_qk = random((rows.back() + 1) * 2 * shape.hidden());
    const Vector dout = random(shape.tokens() * shape.hidden());
    const Forward made = forward(shape, qkv, position_qk, rows);
    Vector log_sum_exp;
    const Vector out =
        reference::disentangled_attention(shape, qkv, position_qk, rows, &log_sum_exp);
    expect_near(made.out, out, tolerance_, "out");
    expect_near(made.log_sum_exp, log_sum_exp, tolerance_, "log_sum_exp");
    const Backward gradients = backward(shape, made, dout);
    expect_near(gradients.dqkv,
                reference::numeric_gradient(
                    [&](const Vector& x) {
                      return reference::disentangled_attention(shape, x, position_qk, rows);
                    },
                    qkv, dout),
                2 * tolerance_, "dqkv");
    expect_near(
        gradients.dposition_qk,
        reference::numeric_gradient(
            [&](const Vector& x) { return reference::disentangled_attention(shape, qkv, x, rows); },
            position_qk, dout),
        5 * tolerance_, "dposition_qk");
  }

  double tolerance_ = 1e-5;
};

TEST_P(DisentangledAttention, OfOneTokenIsItsValue) { check({{0, 1}, 1, 8, {}, {}}, {0}); }

TEST_P(DisentangledAttention, AgreesWithItsDefinition) {
  check({{0, 5}, 2, 8, {}, {}}, bucketed(5, 5));
  check({{0, 3, 4, 11}, 2, 16, {}, {}}, bucketed(7, 7));
}

TEST_P(DisentangledAttention, FarDistancesShareRows) {
  check({{0, 12}, 1, 5, {}, {}}, bucketed(12, 3));
  check({{0, 6}, 2, 4, {}, {}}, std::vector<int32_t>(11, 0));
}

TEST_P(DisentangledAttention, ShorterSequencesUseTheMiddleRows) {
  check({{0, 2, 3}, 2, 8, {}, {}}, bucketed(9, 4));
}

TEST_P(DisentangledAttention, SkipsEmptySequences) {
  check({{0, 0, 4, 4, 6, 6}, 3, 4, {}, {}}, bucketed(4, 4));
}

TEST_P(DisentangledAttention, AgreesUnderDropout) {
  const UpdateInputs inputs{.seed = 3, .step = 4};
  check({{0, 6, 9}, 2, 8, {.p = 0.3f, .site = 12}, inputs, 1000}, bucketed(6, 2));
}

// Takes more queries than a block holds.
TEST_P(DisentangledAttention, OfLongSequencesAgrees) {
  const AttentionShape shape{{0, 301, 320}, 2, 8, {.p = 0.1f, .site = 1}, {.seed = 1}, 5};
  const std::vector<int32_t> rows = bucketed(301, 40);
  const Vector qkv = random(shape.tokens() * 3 * shape.hidden());
  const Vector position_qk = random((rows.back() + 1) * 2 * shape.hidden());
  const Vector dout = random(shape.tokens() * shape.hidden());
  const Forward made = forward(shape, qkv, position_qk, rows);
  expect_near(made.out, reference::disentangled_attention(shape, qkv, position_qk, rows), 1e-5,
              "out");
  // Finite differences along one random direction of both inputs.
  const Vector qkv_way = random(static_cast<int64_t>(qkv.size()));
  const Vector position_way = random(static_cast<int64_t>(position_qk.size()));
  const Vector slope = reference::numeric_gradient(
      [&](const Vector& step) {
        Vector moved = qkv, moved_position = position_qk;
        for (size_t i = 0; i < moved.size(); ++i) moved[i] += step[0] * qkv_way[i];
        for (size_t i = 0; i < moved_position.size(); ++i) {
          moved_position[i] += step[0] * position_way[i];
        }
        return reference::disentangled_attention(shape, moved, moved_position, rows);
      },
      {0.0}, dout);
  const Backward gradients = backward(shape, made, dout);
  double along = 0, size = 0;
  const auto add = [&](const Vector& gradient, const Vector& way) {
    for (size_t i = 0; i < gradient.size(); ++i) {
      along += gradient[i] * way[i];
      size += std::abs(gradient[i] * way[i]);
    }
  };
  add(values(gradients.dqkv), qkv_way);
  add(values(gradients.dposition_qk), position_way);
  EXPECT_NEAR(along, slope[0], 1e-5 * size);
}

TEST_P(DisentangledAttention, OfASequenceDoesNotDependOnItsNeighbours) {
  const std::vector<int32_t> rows = bucketed(5, 3);
  const Vector qkv = random(9 * 48), position_qk = random((rows.back() + 1) * 32);
  const AttentionShape both{{0, 4, 9}, 2, 8, {.p = 0.2f, .site = 1}, {.seed = 1}, 50};
  const AttentionShape second{{0, 5}, 2, 8, {.p = 0.2f, .site = 1}, {.seed = 1}, 54};
  const std::vector<float> out = floats(forward(both, qkv, position_qk, rows).out);
  const Forward alone = forward(second, Vector(qkv.begin() + 4 * 48, qkv.end()), position_qk, rows);
  EXPECT_EQ(floats(alone.out), std::vector<float>(out.begin() + 4 * 16, out.end()));
}

// Computes products in bf16, and probabilities and all sums in fp32.
using Bf16DisentangledAttention = InBf16<DisentangledAttention>;

TEST_P(Bf16DisentangledAttention, IsNearItsDefinition) {
  check({{0, 3, 4, 11}, 2, 16, {}, {}}, bucketed(7, 7));
  check({{0, 6, 9}, 2, 8, {.p = 0.3f, .site = 12}, {.seed = 3, .step = 4}, 1000}, bucketed(6, 2));
}

BERTH_INSTANTIATE_KERNELS(DisentangledAttention);
BERTH_INSTANTIATE_KERNELS(Bf16DisentangledAttention);

}  // namespace
}  // namespace berth
