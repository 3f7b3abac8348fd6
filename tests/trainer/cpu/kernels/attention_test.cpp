#include "tests/trainer/cpu/kernels/kernels_fixture.h"

namespace berth {
namespace {

using reference::AttentionShape;
using reference::Vector;

class Attention : public KernelsTest {
 protected:
  struct Forward {
    Tensor qkv, cu_seqlens, out, log_sum_exp;
  };

  static AttentionInputs inputs(const AttentionShape& shape, const Forward& made) {
    return {.qkv = made.qkv,
            .cu_seqlens = made.cu_seqlens,
            .num_heads = static_cast<int>(shape.heads),
            .window = shape.window,
            .dropout = shape.dropout};
  }
  Forward forward(const AttentionShape& shape, const Vector& qkv) {
    begin(shape.inputs, shape.first_token);
    const int64_t tokens = shape.tokens(), hidden = shape.hidden();
    const Forward made{tensor({tokens, 3 * hidden}, qkv), ids(shape.cu_seqlens),
                       garbage({tokens, hidden}), garbage({tokens, shape.heads})};
    kernels().attention_forward(inputs(shape, made), *state_, made.out, made.log_sum_exp);
    return made;
  }
  Tensor backward(const AttentionShape& shape, const Forward& made, const Vector& dout) {
    const int64_t tokens = shape.tokens(), hidden = shape.hidden();
    const Tensor dqkv = garbage({tokens, 3 * hidden});
    kernels().attention_backward(tensor({tokens, hidden}, dout), inputs(shape, made), *state_,
                                 made.out, made.log_sum_exp, {.dqkv = dqkv});
    return dqkv;
  }

  void check(const AttentionShape& shape) {
    const Vector qkv = random(shape.tokens() * 3 * shape.hidden());
    const Vector dout = random(shape.tokens() * shape.hidden());
    const Forward made = forward(shape, qkv);
    Vector log_sum_exp;
    const Vector out = reference::attention(shape, qkv, &log_sum_exp);
    expect_near(made.out, out, tolerance_, "out");
    expect_near(made.log_sum_exp, log_sum_exp, tolerance_, "log_sum_exp");
    expect_near(backward(shape, made, dout),
                reference::numeric_gradient(
                    [&](const Vector& x) { return reference::attention(shape, x); }, qkv, dout),
                2 * tolerance_, "dqkv");
  }

  void check_long(const AttentionShape& shape) {
    const Vector qkv = random(shape.tokens() * 3 * shape.hidden());
    const Vector dout = random(shape.tokens() * shape.hidden());
    const Forward made = forward(shape, qkv);
    expect_near(made.out, reference::attention(shape, qkv), 1e-5, "out");
    // Finite differences along one random direction of the whole input.
    const Vector direction = random(static_cast<int64_t>(qkv.size()));
    const Vector slope = reference::numeric_gradient(
        [&](const Vector& step) {
          Vector moved = qkv;
          for (size_t i = 0; i < qkv.size(); ++i) moved[i] += step[0] * direction[i];
          return reference::attention(shape, moved);
        },
        {0.0}, dout);
    const Vector dqkv = values(backward(shape, made, dout));
    double along = 0, size = 0;
    for (size_t i = 0; i < dqkv.size(); ++i) {
      along += dqkv[i] * direction[i];
      size += std::abs(dqkv[i] * direction[i]);
    }
    EXPECT_NEAR(along, slope[0], 1e-5 * size);
  }

  // Only the tokens `selected` have queries. Their outputs must equal the outputs of attention over
  // all queries. The gradients must equal its gradients, too, if the outputs of all other tokens
  // have the gradient 0.
  void check_selected(const AttentionShape& shape, const std::vector<int32_t>& selected) {
    const int64_t tokens = shape.tokens(), hidden = shape.hidden();
    const auto rows = static_cast<int64_t>(selected.size());
    const auto part = [&](const Vector& all, int64_t columns, int64_t row, int64_t begin,
                          int64_t end) {
      return Vector(all.begin() + row * columns + begin, all.begin() + row * columns + end);
    };
    const Vector qkv = random(tokens * 3 * hidden);
    Vector dout(static_cast<size_t>(tokens * hidden)), selected_dout, q, kv;
    for (const int32_t row : selected) {
      for (const double x : part(qkv, 3 * hidden, row, 0, hidden)) q.push_back(x);
      for (const double x : random(hidden)) {
        dout[selected_dout.size() % static_cast<size_t>(hidden) +
             static_cast<size_t>(row * hidden)] = x;
        selected_dout.push_back(x);
      }
    }
    for (int64_t row = 0; row < tokens; ++row) {
      for (const double x : part(qkv, 3 * hidden, row, hidden, 3 * hidden)) kv.push_back(x);
    }
    const Forward all = forward(shape, qkv);
    const Vector all_out = values(all.out), all_dqkv = values(backward(shape, all, dout));
    Vector expected_out, expected_dq, expected_dkv;
    for (const int32_t row : selected) {
      for (const double x : part(all_out, hidden, row, 0, hidden)) expected_out.push_back(x);
      for (const double x : part(all_dqkv, 3 * hidden, row, 0, hidden)) expected_dq.push_back(x);
    }
    for (int64_t row = 0; row < tokens; ++row) {
      for (const double x : part(all_dqkv, 3 * hidden, row, hidden, 3 * hidden)) {
        expected_dkv.push_back(x);
      }
    }

    Dropout dropout = shape.dropout;
    dropout.tokens = ids(selected);
    const Tensor queries = tensor({rows, hidden}, q), keys = tensor({tokens, 2 * hidden}, kv);
    const Tensor out = garbage({rows, hidden}), log_sum_exp = garbage({rows, shape.heads});
    const Tensor dq = garbage({rows, hidden}), dkv = garbage({tokens, 2 * hidden});
    const AttentionInputs some{.qkv = keys,
                               .q = queries,
                               .selected = dropout.tokens,
                               .cu_seqlens = all.cu_seqlens,
                               .num_heads = static_cast<int>(shape.heads),
                               .dropout = dropout};
    kernels().attention_forward(some, *state_, out, log_sum_exp);
    kernels().attention_backward(tensor({rows, hidden}, selected_dout), some, *state_, out,
                                 log_sum_exp, {.dqkv = dkv, .dq = dq});
    expect_near(out, expected_out, tolerance_, "out");
    expect_near(dq, expected_dq, tolerance_, "dq");
    expect_near(dkv, expected_dkv, tolerance_, "dkv");
  }

  double tolerance_ = 1e-5;
};

// Selects none, one, some and all tokens of a sequence, and more queries than a block holds.
TEST_P(Attention, OfSelectedQueriesEqualsThatOfAllQueries) {
  check_selected({{0, 3, 3, 7, 12, 14}, 2, 8, {}, {}}, {0, 2, 7, 12, 13});
  check_selected({{0, 6, 9}, 2, 8, {.p = 0.3f, .site = 12}, {.seed = 3, .step = 4}, 1000}, {0, 6});
  std::vector<int32_t> most;
  for (int32_t token = 10; token < 160; ++token) most.push_back(token);
  check_selected({{0, 5, 170}, 1, 4, {.p = 0.1f, .site = 13}, {.seed = 1}, 5}, most);
}

TEST_P(Attention, OfOneTokenIsItsValue) { check({{0, 1}, 1, 8, {}, {}}); }

TEST_P(Attention, AgreesWithItsDefinition) {
  check({{0, 5}, 2, 8, {}, {}});
  check({{0, 3, 4, 11}, 2, 16, {}, {}});
  check({{0, 17}, 1, 5, {}, {}});
}

TEST_P(Attention, OfWideHeadsAgrees) { check({{0, 2, 5}, 1, 64, {}, {}}); }

TEST_P(Attention, SkipsEmptySequences) { check({{0, 0, 4, 4, 6, 6}, 2, 8, {}, {}}); }

TEST_P(Attention, AgreesUnderDropout) {
  const UpdateInputs inputs{.seed = 3, .step = 4};
  check({{0, 6, 9}, 2, 8, {.p = 0.3f, .site = 12}, inputs, 1000});
  check({{0, 18}, 1, 4, {.p = 0.1f, .site = 13}, inputs, 0xffffffff});
}

TEST_P(Attention, InsideAWindowAgrees) {
  check({{0, 1, 12, 12, 16}, 2, 4, {}, {}, 0, /*window=*/2});
  check({{0, 9}, 1, 4, {.p = 0.3f, .site = 12}, {.seed = 3, .step = 4}, 7, /*window=*/0});
  check({{0, 5}, 1, 4, {}, {}, 0, /*window=*/9});
}

// A query beyond the window of a key has no part in the key's gradient, and the key none in its
// output.
TEST_P(Attention, DoesNotSeeBeyondItsWindow) {
  const AttentionShape shape{{0, 300}, 1, 4, {}, {}, 0, /*window=*/20};
  const int64_t width = 3 * shape.hidden();
  Vector qkv = random(shape.tokens() * width);
  const Vector before = values(forward(shape, qkv).out);
  for (int64_t i = 0; i < width; ++i) qkv[static_cast<size_t>(150 * width + i)] += 1;
  const Vector after = values(forward(shape, qkv).out);
  for (int64_t t = 0; t < shape.tokens(); ++t) {
    const auto at = static_cast<size_t>(t * shape.hidden());
    EXPECT_EQ(before[at] == after[at], std::abs(t - 150) > 20) << t;
  }
}

// Take more queries than a block holds, and more keys than one random draw decides.
TEST_P(Attention, OfLongSequencesAgrees) {
  check_long({{0, 301, 320}, 2, 8, {.p = 0.1f, .site = 1}, {.seed = 1}, 5});
}

TEST_P(Attention, OfLongSequencesAgreesInsideAWindow) {
  check_long({{0, 301, 320}, 2, 8, {.p = 0.1f, .site = 1}, {.seed = 1}, 5, /*window=*/37});
}

TEST_P(Attention, SurvivesHugeScores) {
  const AttentionShape shape{{0, 4}, 1, 8, {}, {}};
  Vector qkv = random(4 * 24, 100);
  const Forward made = forward(shape, qkv);
  expect_near(made.out, reference::attention(shape, qkv), 1e-3, "out");
  for (const double value : values(backward(shape, made, random(32)))) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_P(Attention, OfASequenceDoesNotDependOnItsNeighbours) {
  const Vector qkv = random(9 * 48), dout = random(9 * 16);
  const AttentionShape both{{0, 4, 9}, 2, 8, {.p = 0.2f, .site = 1}, {.seed = 1}, 50};
  const AttentionShape second{{0, 5}, 2, 8, {.p = 0.2f, .site = 1}, {.seed = 1}, 54};
  const Forward made = forward(both, qkv);
  const std::vector<float> out = floats(made.out), dqkv = floats(backward(both, made, dout));
  const Forward alone = forward(second, Vector(qkv.begin() + 4 * 48, qkv.end()));
  EXPECT_EQ(floats(alone.out), std::vector<float>(out.begin() + 4 * 16, out.end()));
  EXPECT_EQ(floats(backward(second, alone, Vector(dout.begin() + 4 * 16, dout.end()))),
            std::vector<float>(dqkv.begin() + 4 * 48, dqkv.end()));
}

// Computes products in bf16, and probabilities and all sums in fp32.
using Bf16Attention = InBf16<Attention>;

TEST_P(Bf16Attention, IsNearItsDefinition) {
  check({{0, 1}, 1, 8, {}, {}});
  check({{0, 3, 4, 37}, 2, 16, {}, {}});
  check({{0, 0, 2, 5}, 1, 64, {}, {}});
  check({{0, 6, 9}, 2, 8, {.p = 0.3f, .site = 12}, {.seed = 3, .step = 4}, 1000});
}

TEST_P(Bf16Attention, OfSelectedQueriesIsNearThatOfAllQueries) {
  check_selected({{0, 3, 3, 7, 12, 14}, 2, 16, {}, {}}, {0, 2, 7, 12, 13});
}

TEST_P(Bf16Attention, OfLongSequencesIsNear) {
  const AttentionShape shape{{0, 301, 320}, 2, 8, {.p = 0.1f, .site = 1}, {.seed = 1}, 5};
  const Vector qkv = random(shape.tokens() * 3 * shape.hidden());
  const Vector out = reference::attention(shape, qkv);
  expect_near(forward(shape, qkv).out, out, tolerance_, "out");
}

BERTH_INSTANTIATE_KERNELS(Attention);
BERTH_INSTANTIATE_KERNELS(Bf16Attention);

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

TEST_P(Rotary, TurnsNeighbours) {
  angles_.turns_neighbours = true;
  const Tensor x = tensor({2, 9}, {1, 2, 0, 0, 0, 0, 3, 4, 5, 1, 0, 2, 0, 0, 3, 0, 4, 5});
  kernels().rotate(x, kColumns, ids({0, 5}), angles_);
  const double c = std::cos(5.0), s = std::sin(5.0), c2 = std::cos(0.5), s2 = std::sin(0.5);
  expect_near(x,
              {1, 2, 0, 0, 0, 0, 3, 4, 5,  //
               c, s, 2 * c2, 2 * s2, -3 * s, 3 * c, -4 * s2, 4 * c2, 5},
              1e-6, "x");
}

TEST_P(Rotary, BackwardTurnsBack) {
  for (const bool neighbours : {false, true}) {
    angles_.turns_neighbours = neighbours;
    const Vector x = random(6 * 9);
    const Tensor turned = tensor({6, 9}, x), positions = ids({0, 1, 2, 5, 0, 3});
    kernels().rotate(turned, kColumns, positions, angles_);
    kernels().rotate_backward(turned, kColumns, positions, angles_);
    expect_near(turned, x, 1e-6, "x");
  }
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
