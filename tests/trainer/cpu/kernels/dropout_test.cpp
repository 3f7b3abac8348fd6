#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

class DropoutTest : public KernelsTest {
 protected:
  std::vector<float> drop(int64_t rows, int64_t columns, Dropout dropout) {
    const Tensor y = garbage({rows, columns});
    kernels().dropout(tensor({rows, columns}, Vector(static_cast<size_t>(rows * columns), 1.0)),
                      dropout, *state_, y);
    return floats(y);
  }
};

TEST_P(DropoutTest, DecidesAsTheContractSays) {
  const Dropout dropout{.p = 0.3f, .site = 9};
  for (const int64_t columns : {1, 7, 8, 64, 100, 128, 129, 300}) {
    begin(inputs_, 0xfffffffeull);  // the row number grows beyond 32 bits
    const Vector x = random(5 * columns);
    const Tensor y = garbage({5, columns});
    kernels().dropout(tensor({5, columns}, x), dropout, *state_, y);
    expect_near(y, reference::dropout(x, columns, dropout, inputs_, 0xfffffffeull), 1e-6, "y");
  }
}

TEST_P(DropoutTest, DropsTheRightShareAndKeepsTheMean) {
  for (const float p : {0.1f, 0.5f, 0.9f}) {
    const std::vector<float> y = drop(1000, 300, {.p = p, .site = 1});
    double dropped = 0, sum = 0;
    for (const float value : y) {
      dropped += value == 0 ? 1 : 0;
      sum += static_cast<double>(value);
    }
    const double n = 300000, deviation = std::sqrt(static_cast<double>(p * (1 - p)) / n);
    EXPECT_NEAR(dropped / n, p, 5 * deviation);
    EXPECT_NEAR(sum / n, 1, 5 * deviation / (1 - static_cast<double>(p)));
  }
}

TEST_P(DropoutTest, OfProbabilityZeroCopies) {
  const Vector x = random(33);
  const Tensor y = garbage({3, 11}), in_place = tensor({3, 11}, x);
  kernels().dropout(in_place, {}, *state_, y);
  kernels().dropout(in_place, {}, *state_, in_place);
  expect_near(y, x, 0, "y");
  expect_near(in_place, x, 0, "in place");
}

TEST_P(DropoutTest, IsItsOwnBackwardInPlace) {
  const Dropout dropout{.p = 0.4f, .site = 2};
  const std::vector<float> mask = drop(20, 50, dropout);
  const Tensor dy = tensor({20, 50}, Vector(1000, 1.0));
  kernels().dropout(dy, dropout, *state_, dy);
  EXPECT_EQ(floats(dy), mask);
}

TEST_P(DropoutTest, NumbersTheRowsOfATableFromItsFirst) {
  const Dropout part{.p = 0.3f, .site = 4, .rows = DropoutRows::kTable, .first_row = 7};
  begin(inputs_, 1000, 100);
  const Vector x = random(5 * 40);
  const Tensor y = garbage({5, 40});
  kernels().dropout(tensor({5, 40}, x), part, *state_, y);
  expect_near(y, reference::dropout(x, 40, part, inputs_, 7), 1e-6, "y");
}

TEST_P(DropoutTest, DoesNotDependOnHowTheUpdateIsCut) {
  const Dropout dropout{.p = 0.4f, .site = 2};
  begin(inputs_, 100, 7);
  const std::vector<float> whole = drop(20, 50, dropout);
  state_->begin_micro_batch(100 + 13, 7 + 4);
  const std::vector<float> rest = drop(7, 50, dropout);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + 13 * 50));
}

TEST_P(DropoutTest, OfSomeTokensHasTheMaskOfAllTokens) {
  const std::vector<int32_t> tokens = {0, 3, 4, 11, 17, 18, 19};
  begin(inputs_, 100, 7);
  const std::vector<float> all = drop(20, 300, {.p = 0.4f, .site = 2});
  const std::vector<float> some = drop(7, 300, {.p = 0.4f, .site = 2, .tokens = ids(tokens)});
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_TRUE(std::equal(all.begin() + tokens[i] * 300, all.begin() + (tokens[i] + 1) * 300,
                           some.begin() + static_cast<std::ptrdiff_t>(i) * 300));
  }
}

TEST_P(DropoutTest, NumbersRowsBySequenceIfAsked) {
  const Dropout dropout{.p = 0.4f, .site = 2, .rows = DropoutRows::kSequences};
  begin(inputs_, 100, 7);
  const std::vector<float> whole = drop(20, 50, dropout);
  begin(inputs_, 999, 10);
  const std::vector<float> rest = drop(17, 50, dropout);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + 3 * 50));
}

TEST_P(DropoutTest, DiffersBySeedStepSiteAndRow) {
  const Dropout dropout{.p = 0.5f, .site = 2};
  const UpdateInputs base{.seed = 5, .step = 6};
  begin(base);
  const std::vector<float> mask = drop(1, 512, dropout);
  EXPECT_NE(drop(1, 512, {.p = 0.5f, .site = 3}), mask);
  begin({.seed = 4, .step = 6});
  EXPECT_NE(drop(1, 512, dropout), mask);
  begin({.seed = 5, .step = 7});
  EXPECT_NE(drop(1, 512, dropout), mask);
  begin(base, 1);
  EXPECT_NE(drop(1, 512, dropout), mask);
  begin(base);
  EXPECT_EQ(drop(1, 512, dropout), mask);
}

TEST_P(DropoutTest, OfProbabilityNearOneStaysFinite) {
  for (const float value : drop(4, 100, {.p = 0.9999999f, .site = 1})) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

BERTH_INSTANTIATE_KERNELS(DropoutTest);

}  // namespace
}  // namespace berth
