// Operands in bf16. An operation on them gives the bits of the same operation on fp32 tensors that
// hold the same numbers, rounded once where the result is an operand.

#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

class Operands : public KernelsTest {
 protected:
  void SetUp() override {
    set_up(Precision::kBf16);
    if (kernels_) begin(inputs_, 41);
  }

  // The same random numbers in fp32 and as an operand.
  struct Pair {
    Tensor single, operand;
  };
  Pair pair(std::initializer_list<int64_t> shape) {
    const Pair made{garbage(shape), kept(shape)};
    const Vector values = random(made.single.elements());
    const std::vector<float> numbers(values.begin(), values.end());
    copy_in(made.single, numbers.data());
    kernels().convert(made.single, made.operand);
    kernels().convert(made.operand, made.single);
    return made;
  }
  // Two results of a shape.
  Pair results(std::initializer_list<int64_t> shape) { return {garbage(shape), kept(shape)}; }

  // Whether the operand is the fp32 tensor, rounded.
  void expect_rounded(const Pair& x, const char* what) {
    const Tensor wide = copy_of(x.operand), rounded = kept({x.single.elements()});
    kernels().convert(x.single, rounded);
    EXPECT_EQ(floats(wide), floats(copy_of(rounded))) << what;
  }
  void expect_equal(Tensor a, Tensor b, const char* what) {
    EXPECT_EQ(floats(a), floats(b)) << what;
  }

  // A copy in fp32.
  Tensor copy_of(Tensor x) {
    const Tensor wide = garbage({x.elements()});
    kernels().convert(x, wide);
    return wide;
  }

  static constexpr int64_t kTokens = 45, kInputs = 64, kOutputs = 96;
};

TEST_P(Operands, OfDenseLayers) {
  const Pair x = pair({kTokens, kInputs}), dy = pair({kTokens, kOutputs});
  const auto w = weight({kOutputs, kInputs}, random(kOutputs * kInputs));
  const Tensor bias = tensor({kOutputs}, random(kOutputs));
  const Pair y = results({kTokens, kOutputs}), activated = results({kTokens, kOutputs});
  kernels().linear_forward(x.single, *w, bias, y.single);
  kernels().linear_forward(x.operand, *w, bias, y.operand);
  expect_rounded(y, "y");
  const Tensor pre = kept({kTokens, kOutputs}), other = kept({kTokens, kOutputs});
  kernels().linear_activation_forward(x.single, *w, bias, Activation::kGelu, pre, activated.single);
  kernels().linear_activation_forward(x.operand, *w, bias, Activation::kGelu, other,
                                      activated.operand);
  expect_equal(copy_of(pre), copy_of(other), "pre");
  expect_rounded(activated, "activated");

  const Pair dx = results({kTokens, kInputs});
  const Tensor dw = zeros({kOutputs, kInputs}), other_dw = zeros({kOutputs, kInputs});
  const Tensor dbias = zeros({kOutputs}), other_dbias = zeros({kOutputs});
  kernels().linear_backward(dy.single, x.single, *w, dx.single, Into::kOverwrite, {dw, dbias});
  kernels().linear_backward(dy.operand, x.operand, *w, dx.operand, Into::kOverwrite,
                            {other_dw, other_dbias});
  expect_rounded(dx, "dx");
  expect_equal(dw, other_dw, "dw");
  expect_equal(dbias, other_dbias, "dbias");
  // An fp32 dx is added to.
  const Tensor sum = tensor({kTokens, kInputs}, Vector(kTokens * kInputs, 1.0)),
               other_sum = tensor({kTokens, kInputs}, Vector(kTokens * kInputs, 1.0));
  kernels().linear_backward(dy.single, {}, *w, sum, Into::kAdd, {});
  kernels().linear_backward(dy.operand, {}, *w, other_sum, Into::kAdd, {});
  expect_equal(sum, other_sum, "added dx");
}

// The gradient of what an activation read, from the layer behind it.
TEST_P(Operands, OfLayersBehindAnActivation) {
  const Pair dy = pair({kTokens, kOutputs}), pre = pair({kTokens, kInputs});
  const auto w = weight({kOutputs, kInputs}, random(kOutputs * kInputs));
  const Pair dx = results({kTokens, kInputs});
  const Tensor fused = garbage({kTokens, kInputs});
  kernels().linear_backward(dy.single, {}, *w, dx.single, Into::kOverwrite, {});
  kernels().activation_backward(pre.operand, Activation::kGelu, dx.single);
  kernels().linear_backward(dy.operand, {}, *w, dx.operand, Into::kOverwrite, {},
                            {pre.operand, Activation::kGelu});
  expect_rounded(dx, "dx");
  kernels().linear_backward(dy.single, {}, *w, fused, Into::kOverwrite, {},
                            {pre.single, Activation::kGelu});
  expect_equal(fused, dx.single, "fp32");
}

TEST_P(Operands, OfActivations) {
  constexpr int64_t kWidth = 1037;  // more than is activated at a time
  const Pair x = pair({3, kWidth}), y = results({3, kWidth}), dy = pair({3, kWidth});
  kernels().activation_forward(x.single, Activation::kSilu, y.single);
  kernels().activation_forward(x.operand, Activation::kSilu, y.operand);
  expect_rounded(y, "y");
  kernels().activation_backward(x.single, Activation::kSilu, dy.single);
  kernels().activation_backward(x.operand, Activation::kSilu, dy.operand);
  expect_rounded(dy, "dy");

  const Pair halves = pair({3, 2 * kWidth}), gated = results({3, kWidth});
  kernels().gated_activation_forward(halves.single, Activation::kGelu, gated.single);
  kernels().gated_activation_forward(halves.operand, Activation::kGelu, gated.operand);
  expect_rounded(gated, "gated");
  const Pair dgated = pair({3, kWidth}), dhalves = results({3, 2 * kWidth});
  kernels().gated_activation_backward(halves.single, Activation::kGelu, dgated.single,
                                      dhalves.single);
  kernels().gated_activation_backward(halves.operand, Activation::kGelu, dgated.operand,
                                      dhalves.operand);
  expect_rounded(dhalves, "dhalves");
}

TEST_P(Operands, OfDropoutAndRows) {
  const Dropout dropout{.p = 0.3f, .site = 3};
  const Pair x = pair({kTokens, kInputs}), y = results({kTokens, kInputs});
  kernels().dropout(x.single, dropout, *state_, y.single);
  kernels().dropout(x.operand, dropout, *state_, y.operand);
  expect_rounded(y, "dropped");
  const Tensor rows = ids({1, 4, 44});
  const Pair some = results({3, kInputs}), spread = results({kTokens, kInputs});
  kernels().gather_rows(x.single, rows, some.single);
  kernels().gather_rows(x.operand, rows, some.operand);
  expect_rounded(some, "gathered");
  kernels().scatter_rows(some.single, rows, spread.single);
  kernels().scatter_rows(some.operand, rows, spread.operand);
  expect_rounded(spread, "scattered");
}

// A residual is what normalizing other rows gives.
TEST_P(Operands, OfNormalization) {
  const Dropout dropout{.p = 0.3f, .site = 3};
  const auto statistics = [&] { return NormStatistics{garbage({kTokens}), garbage({kTokens})}; };
  const LayerNormParameters first{tensor({kInputs}, random(kInputs)), {}, 1e-5f};
  const LayerNormParameters second{tensor({kInputs}, random(kInputs)),
                                   tensor({kInputs}, random(kInputs)), 1e-5f};
  const Pair rows = pair({kTokens, kInputs}), x = pair({kTokens, kInputs});
  const Pair residual = results({kTokens, kInputs}), y = results({kTokens, kInputs});
  const NormStatistics of_rows = statistics(), of_sum = statistics();
  kernels().layer_norm_forward(rows.single, first, residual.single, of_rows);
  const NormalizedRows normalized{rows.single, of_rows.mean, of_rows.rstd};
  kernels().layer_norm_recompute(normalized, first, residual.operand);
  expect_rounded(residual, "recomputed");

  const Tensor sum = garbage({kTokens, kInputs}), other_sum = garbage({kTokens, kInputs});
  kernels().add_layer_norm_forward(x.single, residual.single, dropout, *state_, second,
                                   {sum, y.single, of_sum});
  kernels().add_layer_norm_forward(x.single, Residual(normalized, first), dropout, *state_, second,
                                   {other_sum, y.operand, statistics()});
  expect_equal(sum, other_sum, "sum");
  expect_rounded(y, "y");
  const Tensor some = ids({0, 7, 44});
  const Tensor gathered = garbage({3, kInputs}), other_gathered = garbage({3, kInputs});
  kernels().gather_residual(residual.single, some, gathered);
  kernels().gather_residual(Residual(normalized, first), some, other_gathered);
  expect_equal(gathered, other_gathered, "gathered");

  const Pair dx = results({kTokens, kInputs}), dy = pair({kTokens, kInputs});
  const Tensor dresidual = garbage({kTokens, kInputs}), other = garbage({kTokens, kInputs});
  const NormalizedRows of_y{sum, of_sum.mean, of_sum.rstd};
  const Tensor dgamma = zeros({kInputs}), other_dgamma = zeros({kInputs});
  for (const Dropout& drop : {dropout, Dropout()}) {
    kernels().add_layer_norm_backward(dy.single, of_y, drop, *state_, second,
                                      {dx.single, dresidual, {dgamma, {}}});
    kernels().add_layer_norm_backward(dy.single, of_y, drop, *state_, second,
                                      {dx.operand, other, {other_dgamma, {}}});
    expect_rounded(dx, "dx");
    expect_equal(dresidual, other, "dresidual");
    expect_equal(dgamma, other_dgamma, "dgamma");
  }
}

TEST_P(Operands, OfAttention) {
  constexpr int kHeads = 2;
  constexpr int64_t kHidden = 32, kAll = 150 + 1 + 9;  // more queries than a block has
  const Pair qkv = pair({kAll, 3 * kHidden}), out = results({kAll, kHidden});
  const Pair dout = pair({kAll, kHidden}), dqkv = results({kAll, 3 * kHidden});
  const Tensor logs = garbage({kAll, kHeads}), other_logs = garbage({kAll, kHeads});
  for (const int64_t window : {-1, 20}) {
    AttentionInputs inputs{.qkv = qkv.single,
                           .cu_seqlens = ids({0, 150, 150, 151, kAll}),
                           .num_heads = kHeads,
                           .window = window,
                           .dropout = {.p = 0.1f, .site = 4}};
    AttentionInputs others = inputs;
    others.qkv = qkv.operand;
    kernels().attention_forward(inputs, *state_, out.single, logs);
    kernels().attention_forward(others, *state_, out.operand, other_logs);
    expect_rounded(out, "out");
    expect_equal(logs, other_logs, "log_sum_exp");
    const Tensor rounded_out = garbage({kAll, kHidden});
    kernels().convert(out.operand, rounded_out);
    kernels().attention_backward(dout.single, inputs, *state_, rounded_out, logs,
                                 {.dqkv = dqkv.single});
    kernels().attention_backward(dout.operand, others, *state_, out.operand, logs,
                                 {.dqkv = dqkv.operand});
    expect_rounded(dqkv, "dqkv");
  }
}

// Attention of the first tokens only.
TEST_P(Operands, OfAttentionOfSomeQueries) {
  constexpr int kHeads = 2;
  constexpr int64_t kHidden = 32, kAll = 20;
  const Pair kv = pair({kAll, 2 * kHidden}), q = pair({2, kHidden}), dout = pair({2, kHidden});
  const Pair out = results({2, kHidden}), dkv = results({kAll, 2 * kHidden});
  const Pair dq = results({2, kHidden});
  const Tensor logs = garbage({2, kHeads});
  AttentionInputs inputs{.qkv = kv.single,
                         .q = q.single,
                         .selected = ids({0, 12}),
                         .cu_seqlens = ids({0, 12, kAll}),
                         .num_heads = kHeads};
  AttentionInputs others = inputs;
  others.qkv = kv.operand;
  others.q = q.operand;
  kernels().attention_forward(inputs, *state_, out.single, logs);
  kernels().attention_forward(others, *state_, out.operand, logs);
  expect_rounded(out, "out");
  const Tensor rounded_out = garbage({2, kHidden});
  kernels().convert(out.operand, rounded_out);
  kernels().attention_backward(dout.single, inputs, *state_, rounded_out, logs,
                               {.dqkv = dkv.single, .dq = dq.single});
  kernels().attention_backward(dout.operand, others, *state_, out.operand, logs,
                               {.dqkv = dkv.operand, .dq = dq.operand});
  expect_rounded(dkv, "dkv");
  expect_rounded(dq, "dq");
}

BERTH_INSTANTIATE_KERNELS(Operands);

}  // namespace
}  // namespace berth
