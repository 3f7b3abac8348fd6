#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

// Two heads of four, whose pairs turn by p and p / 10 at position p, and one column behind them.
class Rotary : public KernelsTest {
 protected:
  static constexpr int64_t kPositions = 6, kHalf = 2, kColumns = 8;

  void SetUp() override {
    KernelsTest::SetUp();
    if (IsSkipped()) return;
    Vector cosines, sines;
    for (int64_t p = 0; p < kPositions; ++p) {
      for (const double frequency : {1.0, 0.1}) {
        cosines.push_back(std::cos(static_cast<double>(p) * frequency));
        sines.push_back(std::sin(static_cast<double>(p) * frequency));
      }
    }
    angles_ = {.cosines = tensor({kPositions, kHalf}, cosines),
               .sines = tensor({kPositions, kHalf}, sines)};
  }

  RotaryAngles angles_;
};

TEST_P(Rotary, TurnsPairsByTheAngleOfTheirPosition) {
  const Tensor x = tensor({2, 9}, {1, 2, 0, 0, 0, 0, 3, 4, 5, 1, 2, 0, 0, 0, 0, 3, 4, 5});
  kernels().rotate(x, kColumns, ids({0, 5}), angles_);
  const double c = std::cos(5.0), s = std::sin(5.0), c2 = std::cos(0.5), s2 = std::sin(0.5);
  expect_near(x,
              {1, 2, 0, 0, 0, 0, 3, 4, 5,  //
               c, 2 * c2, s, 2 * s2, -3 * s, -4 * s2, 3 * c, 4 * c2, 5},
              1e-6, "x");
}

TEST_P(Rotary, BackwardTurnsBack) {
  const Vector x = random(6 * 9);
  const Tensor turned = tensor({6, 9}, x), positions = ids({0, 1, 2, 5, 0, 3});
  kernels().rotate(turned, kColumns, positions, angles_);
  kernels().rotate_backward(turned, kColumns, positions, angles_);
  expect_near(turned, x, 1e-6, "x");
}

// What rotary positions are for.
TEST_P(Rotary, ProductsDependOnDistancesOnly) {
  const Vector q = random(kColumns), k = random(kColumns);
  const auto product = [&](int32_t of_query, int32_t of_key) {
    Vector both = q;
    both.insert(both.end(), k.begin(), k.end());
    const Tensor x = tensor({2, kColumns}, both);
    kernels().rotate(x, kColumns, ids({of_query, of_key}), angles_);
    const Vector turned = values(x);
    double sum = 0;
    for (size_t i = 0; i < q.size(); ++i) sum += turned[i] * turned[q.size() + i];
    return sum;
  };
  EXPECT_NEAR(product(4, 1), product(5, 2), 1e-5);
  EXPECT_GT(std::abs(product(4, 1) - product(1, 4)), 1e-3);
}

BERTH_INSTANTIATE_KERNELS(Rotary);

}  // namespace
}  // namespace berth
