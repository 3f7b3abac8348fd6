// Whole gradients of matrices. The product of one batch writes each of them once, in fp32 or
// rounded to bf16, and the update reads it.

#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

class WholeGradient : public KernelsTest {
 protected:
  Tensor in_kept_dtype(Tensor x) {
    const Tensor y = kept({x.rows(), x.columns()});
    kernels().convert(x, y);
    return y;
  }
  Tensor single(Tensor x) {
    const Tensor y = garbage({x.rows(), x.columns()});
    kernels().convert(x, y);
    return y;
  }

  // Writes over garbage. The shapes have one or several pieces of columns, more rows than a tile,
  // and no tokens.
  void expect_the_sums() {
    struct ProductShape {
      int64_t tokens, outputs, inputs;
    };
    for (const auto& [tokens, outputs, inputs] : std::vector<ProductShape>{
             {1, 16, 1}, {7, 33, 65}, {70, 200, 40}, {1300, 40, 1600}, {0, 32, 20}}) {
      const Tensor dy = tensor({tokens, outputs}, random(tokens * outputs));
      const Tensor x = tensor({tokens, inputs}, random(tokens * inputs));
      const auto w = weight({outputs, inputs}, Vector(static_cast<size_t>(outputs * inputs), 1));
      const Tensor sums = zeros({outputs, inputs}), written = garbage({outputs, inputs});
      const Tensor dw = in_kept_dtype(garbage({outputs, inputs}));
      const Tensor dbias = zeros({outputs}), other_dbias = zeros({outputs});
      kernels().linear_backward(dy, x, *w, {}, Into::kOverwrite, {sums, dbias});
      kernels().linear_backward(dy, x, *w, {}, Into::kOverwrite,
                                {dw, other_dbias, Into::kOverwrite});
      kernels().linear_backward(dy, x, *w, {}, Into::kOverwrite, {written, {}, Into::kOverwrite});
      EXPECT_EQ(floats(written), floats(sums)) << tokens << " tokens";
      EXPECT_EQ(floats(single(dw)), floats(single(in_kept_dtype(sums)))) << tokens << " tokens";
      EXPECT_EQ(floats(dbias), floats(other_dbias)) << tokens << " tokens";
    }
  }

  // The norm, the moments and the weights must be those of an update that reads the same numbers
  // from the block of all summed gradients.
  void expect_the_update() {
    constexpr int64_t kRows = 150, kColumns = 331, kSize = kRows * kColumns, kAll = kSize + 70;
    constexpr int64_t kBegin = 33, kEnd = kBegin + kSize;
    const Tensor whole = in_kept_dtype(tensor({kRows, kColumns}, random(kSize)));
    const std::vector<float> numbers = floats(single(whole));
    const Vector w = random(kAll), m = random(kAll, 0.1), others = random(kAll);
    struct Side {
      Tensor w, m, v, g;
      double norm = 0;
    } sides[2];
    for (Side& side : sides) {
      const bool is_apart = &side == &sides[1];
      side = {tensor({kAll}, w), tensor({kAll}, m), zeros({kAll}), tensor({kAll}, others)};
      const Tensor place = side.g.slice(kBegin, kSize);
      if (is_apart) {
        fill(place, std::numeric_limits<double>::quiet_NaN());  // must not be read
      } else {
        copy_in(place, numbers.data());
      }
      const auto range_of = [&](int64_t from, int64_t to, float weight_decay, float rate_scale) {
        return UpdateRange{.w = side.w.slice(from, to - from),
                           .g = side.g.slice(from, to - from),
                           .m = side.m.slice(from, to - from),
                           .v = side.v.slice(from, to - from),
                           .weight_decay = weight_decay,
                           .rate_scale = rate_scale};
      };
      std::vector<UpdateRange> ranges = {range_of(0, kBegin, 0, 1),
                                         range_of(kBegin, kEnd, 0.1f, 0.5f),
                                         range_of(kEnd, kAll, 0.1f, 1)};
      if (is_apart) {
        ranges[1].g = whole;
        ranges[1].zeroes_gradient = false;
      }
      begin({.seed = 1, .step = 3, .learning_rate = 0.01f});
      count_examples(2);
      add_squares(is_apart ? whole : place);
      state_->finish_gradients(1);
      kernels().adamw(ranges, {}, *state_);
      side.norm = state_->outcome().grad_norm;
    }
    EXPECT_NEAR(sides[1].norm / sides[0].norm, 1, 1e-6);
    expect_near(sides[1].w, values(sides[0].w), 1e-6, "w");
    expect_near(sides[1].m, values(sides[0].m), 1e-6, "m");
    expect_near(sides[1].v, values(sides[0].v), 1e-6, "v");
    EXPECT_NE(floats(sides[1].w), std::vector<float>(w.begin(), w.end()));
    EXPECT_EQ(values(sides[1].g.first(kBegin)), Vector(kBegin));  // zeroed by the update
    EXPECT_EQ(floats(single(whole)), numbers);                    // unchanged
  }

  void expect_bad_numbers_seen() {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      Vector g = random(5000);
      g[4999] = bad;
      count_examples(2);
      add_squares(in_kept_dtype(tensor({50, 100}, g)));
      state_->finish_gradients(1);
      EXPECT_FALSE(std::isfinite(state_->outcome().grad_norm));
      begin(inputs_);
    }
  }
};

class WholeGradientInBf16 : public WholeGradient {
 protected:
  void SetUp() override { set_up(Precision::kBf16); }
};

TEST_P(WholeGradient, EqualsTheSummedGradient) { expect_the_sums(); }
TEST_P(WholeGradientInBf16, EqualsTheRoundedSummedGradient) { expect_the_sums(); }

TEST_P(WholeGradient, UpdateEqualsThatFromTheSummedGradient) { expect_the_update(); }
TEST_P(WholeGradientInBf16, UpdateEqualsThatFromTheSummedGradient) { expect_the_update(); }

TEST_P(WholeGradient, NonFiniteGradientsMakeTheNormNonFinite) { expect_bad_numbers_seen(); }
TEST_P(WholeGradientInBf16, NonFiniteGradientsMakeTheNormNonFinite) { expect_bad_numbers_seen(); }

BERTH_INSTANTIATE_KERNELS(WholeGradient);
BERTH_INSTANTIATE_KERNELS(WholeGradientInBf16);

}  // namespace
}  // namespace berth
