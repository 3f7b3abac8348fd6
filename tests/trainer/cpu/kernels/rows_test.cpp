#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

class Rows : public KernelsTest {};

TEST_P(Rows, AreGathered) {
  const Tensor x = tensor({4, 3}, {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  const Tensor y = garbage({2, 3});
  kernels().gather_rows(x, ids({2, 0}), y);
  expect_near(y, {20, 21, 22, 0, 1, 2}, 0, "y");
}

TEST_P(Rows, AreScatteredAmongZeros) {
  const Tensor dx = garbage({4, 3});
  kernels().scatter_rows(tensor({2, 3}, {1, 2, 3, 4, 5, 6}), ids({2, 0}), dx);
  expect_near(dx, {4, 5, 6, 0, 0, 0, 1, 2, 3, 0, 0, 0}, 0, "dx");
}

TEST_P(Rows, AreAveragedInsideEachSequence) {
  const Tensor x = tensor({4, 2}, {1, 2, 3, 6, 5, 10, -7, 0.5});
  const Tensor means = garbage({2, 2});
  kernels().sequence_means(x, ids({0, 3, 4}), means);
  expect_near(means, {3, 6, -7, 0.5}, 1e-6, "means");
}

TEST_P(Rows, ShareTheGradientOfTheirMean) {
  const Tensor dx = garbage({4, 2});
  kernels().sequence_means_backward(tensor({2, 2}, {3, -6, 5, 1}), ids({0, 3, 4}), dx);
  expect_near(dx, {1, -2, 1, -2, 1, -2, 5, 1}, 1e-6, "dx");
}

TEST_P(Rows, HaveALargestOneInEachSequence) {
  const Tensor x = tensor({4, 2}, {1, 2, 3, -6, 3, -10, -7, 0.5});
  const Tensor maxima = garbage({2, 2}), places = ids({9, 9, 9, 9});
  kernels().sequence_maxima(x, ids({0, 3, 4}), maxima, places);
  expect_near(maxima, {3, 2, -7, 0.5}, 0, "maxima");
  const std::vector<int32_t> first = {1, 0, 3, 3};
  EXPECT_EQ(std::vector<int32_t>(places.i32(), places.i32() + 4), first);
}

TEST_P(Rows, ThatAreLargestHaveTheGradient) {
  const Tensor dx = garbage({4, 2});
  kernels().sequence_maxima_backward(tensor({2, 2}, {3, -6, 5, 1}), ids({1, 0, 3, 3}), dx);
  expect_near(dx, {0, -6, 3, 0, 0, 0, 5, 1}, 0, "dx");
}

BERTH_INSTANTIATE_KERNELS(Rows);

}  // namespace
}  // namespace berth
