#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::Vector;

class Embedding : public KernelsTest {
 protected:
  // Sums the rows of three tables of `hidden` columns for `tokens` ids each.
  void check(int64_t tokens, int64_t hidden, bool with_types) {
    const Vector word = random(11 * hidden), position = random(5 * hidden),
                 type = random(2 * hidden);
    const std::vector<int32_t> words = random_ids(tokens, 11), positions = random_ids(tokens, 5),
                               types = random_ids(tokens, 2);
    const Vector dy = random(tokens * hidden);
    Vector y(dy.size());
    Vector dword = random(11 * hidden), dposition = random(5 * hidden), dtype = random(2 * hidden);
    const Tensor dword_t = tensor({11, hidden}, dword),
                 dposition_t = tensor({5, hidden}, dposition);
    const Tensor dtype_t = tensor({2, hidden}, dtype);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t c = 0; c < hidden; ++c) {
        const auto at = [&](const std::vector<int32_t>& ids) {
          return static_cast<size_t>(ids[static_cast<size_t>(t)] * hidden + c);
        };
        const auto i = static_cast<size_t>(t * hidden + c);
        y[i] = word[at(words)] + position[at(positions)] + (with_types ? type[at(types)] : 0);
        dword[at(words)] += dy[i];
        dposition[at(positions)] += dy[i];
        dtype[at(types)] += dy[i];
      }
    }
    const Tensor word_ids = ids(words), position_ids = ids(positions);
    const Tensor type_ids = with_types ? ids(types) : Tensor{};
    const Tensor yt = garbage({tokens, hidden});
    const EmbeddingIds rows{.words = word_ids, .positions = position_ids, .types = type_ids};
    const EmbeddingTables tables{.word = tensor({11, hidden}, word),
                                 .position = tensor({5, hidden}, position),
                                 .type = with_types ? tensor({2, hidden}, type) : Tensor{}};
    kernels().embedding_forward(rows, tables, yt);
    expect_near(yt, y, 1e-6, "y");
    kernels().embedding_backward(
        tensor({tokens, hidden}, dy), rows, /*padding=*/{},
        {.dword = dword_t, .dposition = dposition_t, .dtype = with_types ? dtype_t : Tensor{}});
    expect_near(dword_t, dword, 1e-5, "dword");
    expect_near(dposition_t, dposition, 1e-5, "dposition");
    if (with_types) expect_near(dtype_t, dtype, 1e-5, "dtype");
  }
};

TEST_P(Embedding, AgreesWithItsDefinition) {
  check(1, 8, true);
  check(40, 37, true);
  check(500, 128, true);
  check(0, 8, true);
}

TEST_P(Embedding, WorksWithoutTokenTypes) { check(30, 16, false); }

TEST_P(Embedding, WorksWithoutPositions) {
  const Vector word = random(2 * 8), type = random(2 * 8);
  const Tensor some = ids({1, 0}), words = tensor({2, 8}, word), types = tensor({2, 8}, type);
  const Tensor y = garbage({2, 8});
  kernels().embedding_forward({some, {}, {}}, {words, {}, {}}, y);
  Vector expected(word.begin() + 8, word.end());
  expected.insert(expected.end(), word.begin(), word.begin() + 8);
  expect_near(y, expected, 0, "words");
  kernels().embedding_forward({some, {}, some}, {words, {}, types}, y);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += type[(i + 8) % 16];
  expect_near(y, expected, 1e-6, "words and types");
}

TEST_P(Embedding, EachTokenTakesTheSharedRow) {
  const Vector word = random(2 * 8), shared = random(8), dy = random(3 * 8);
  const Tensor some = ids({1, 0, 1}), y = garbage({3, 8}), dshared = zeros({2, 8});
  kernels().embedding_forward(
      {some, {}, {}},
      {.word = tensor({2, 8}, word), .position = {}, .type = {}, .shared = tensor({1, 8}, shared)},
      y);
  kernels().embedding_backward(tensor({3, 8}, dy), {some, {}, {}}, /*padding=*/{},
                               {.dword = {}, .dposition = {}, .dtype = {}, .dshared = dshared});
  Vector expected(3 * 8), sums(2 * 8);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = word[(i + 8) % 16] + shared[i % 8];
    sums[i % 8] += dy[i];
  }
  expect_near(y, expected, 1e-6, "y");
  expect_near(dshared, sums, 1e-6, "dshared");
}

TEST_P(Embedding, BackwardSkipsNullGradients) {
  const Tensor dy = tensor({2, 8}, random(16)), some = ids({0, 1});
  const Tensor dposition = zeros({2, 8});
  kernels().embedding_backward(dy, {some, some, some}, /*padding=*/{},
                               {.dword = {}, .dposition = dposition, .dtype = {}});
  EXPECT_EQ(floats(dposition), floats(dy));
}

TEST_P(Embedding, PaddingHasNoGradient) {
  const std::vector<float> ones(16, 1), second = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  const Tensor dy = tensor({2, 8}, reference::Vector(16, 1)), some = ids({0, 1});
  const Tensor dword = zeros({2, 8}), dposition = zeros({2, 8}), dtype = zeros({2, 8});
  const Tensor marks = ids({kHasMoments, kHasMoments});
  kernels().embedding_backward(
      dy, {some, some, some}, {.word = 0, .position = 0},
      {.dword = dword, .dposition = dposition, .dtype = dtype, .word_marks = marks});
  EXPECT_EQ(floats(dword), second);
  EXPECT_EQ(floats(dposition), second);
  EXPECT_EQ(floats(dtype), ones);
  EXPECT_EQ(marks.i32()[0], kHasMoments);
  EXPECT_EQ(marks.i32()[1], kHasMoments | kHasGradient);
}

BERTH_INSTANTIATE_KERNELS(Embedding);

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
