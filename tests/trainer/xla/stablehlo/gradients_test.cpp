#include "trainer/xla/stablehlo/gradients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "storage/base/error.h"
#include "tests/trainer/xla/stablehlo/cases.h"
#include "trainer/xla/stablehlo/operations.h"
#include "trainer/xla/stablehlo/text.h"

namespace berth::stablehlo {
namespace {

class Gradients : public testing::TestWithParam<size_t> {};

TEST_P(Gradients, MatchFiniteDifferences) {
  const Case& which = cases()[GetParam()];
  SCOPED_TRACE(which.name);
  Program program(which);
  const std::vector<Array> found = interpret(program.derivatives, program.inputs);
  for (size_t p = 0; p < found.size(); ++p) {
    ASSERT_EQ(found[p].type, program.parameters[p].type());
    for (size_t i = 0; i < found[p].numbers.size(); ++i) {
      constexpr double kStep = 1e-5;
      const auto moved = [&](double by) {
        Inputs inputs = program.inputs;
        inputs[program.parameters[p].index()].numbers[i] += by;
        return program.loss_at(inputs);
      };
      const double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(found[p].numbers[i], expected, 1e-7 * (1 + std::abs(expected)))
          << "operand " << p << ", element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Gradients, testing::Range<size_t>(0, cases().size()));

TEST(Gradients, AreZerosWhereTheLossDoesNotDepend) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2}),
              y = graph.parameter(ElementType::kF32, {3});
  const std::vector<Value> wrt = {x, y};
  const std::vector<Value> found = gradients(reduce_sum(x * 2), wrt);
  const Inputs inputs = {{x.index(), Array::of({2}, {1, 2})},
                         {y.index(), Array::of({3}, {1, 2, 3})}};
  EXPECT_EQ(interpret(found, inputs)[1].numbers, std::vector<double>(3));
  EXPECT_EQ(interpret(found, inputs)[0].numbers, std::vector<double>(2, 2.0));
}

TEST(Gradients, EndAtStopGradient) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2});
  const std::vector<Value> wrt = {x};
  const std::vector<Value> found = gradients(reduce_sum(x * stop_gradient(x)), wrt);
  const Inputs inputs = {{x.index(), Array::of({2}, {1, 2})}};
  EXPECT_EQ(interpret(found, inputs)[0].numbers, (std::vector<double>{1, 2}));
}

TEST(Gradients, OfAnAllReduceDoNotExist) {
  Graph graph;
  const std::vector<Value> wrt = {graph.parameter(ElementType::kF32, {})};
  EXPECT_THROW(gradients(all_reduce(wrt[0], 2), wrt), Error);
}

TEST(Gradients, OfBf16FactorsAreRoundedToBf16) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2});
  const Value y = graph.parameter(ElementType::kF32, {2});
  const Value product = dot(convert(x, ElementType::kBF16), convert(y, ElementType::kBF16),
                            {.contracted_x = {0}, .contracted_y = {0}});
  EXPECT_EQ(product.element(), ElementType::kF32);
  const std::vector<Value> wrt = {x};
  const Inputs inputs = {{x.index(), Array::of({2}, {1, 1})},
                         {y.index(), Array::of({2}, {1.001, 0.3333})}};
  const Array found = interpret(gradients(product, wrt), inputs)[0];
  EXPECT_EQ(found.type.element, ElementType::kF32);
  EXPECT_EQ(found.numbers[0], 1.0);
  EXPECT_NEAR(found.numbers[1], 0.3333, 0.001);
  EXPECT_NE(found.numbers[1], 0.3333);
}

// The gradient of the weights y is not rounded. The gradient of x is rounded as the result is.
TEST(Gradients, OfRoundedProductsAreRoundedButForWeights) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2, 1});
  const Value y = graph.parameter(ElementType::kF32, {2, 1});
  const Value product = dot(convert(x, ElementType::kBF16), convert(y, ElementType::kBF16),
                            {.contracted_x = {1}, .contracted_y = {1}}, ElementType::kBF16);
  EXPECT_EQ(product.element(), ElementType::kBF16);
  const std::vector<Value> wrt = {x, y};
  const Inputs inputs = {{x.index(), Array::of({2, 1}, {1, 1.0 / 256})},
                         {y.index(), Array::of({2, 1}, {1, 1.0 / 256})}};
  const auto found =
      interpret(gradients(reduce_sum(convert(product, ElementType::kF32)), wrt), inputs);
  EXPECT_EQ(found[0].numbers, std::vector<double>(2, 1.0));  // bf16 has no 1 + 1/256
  EXPECT_EQ(found[1].numbers, std::vector<double>(2, 1 + 1.0 / 256));
}

// Short numbers hold an id and a place; here they do not.
TEST(AddRows, SortsLongNumbersForManyRows) {
  constexpr int64_t kRows = int64_t{1} << 20, kCount = 4096;
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {kCount, 1});
  std::vector<int32_t> ids(kCount, kRows - 1);
  ids[0] = 5, ids[4095] = 5, ids[7] = 0;
  const Value sums = add_rows(x, constant(graph, ids), kRows);
  EXPECT_NE(to_text({&x, 1}, {&sums, 1}).find("ui64"), std::string::npos);
  const Inputs inputs = {{x.index(), Array::of({kCount, 1}, std::vector<double>(kCount, 1.0))}};
  const Array found = interpret({&sums, 1}, inputs)[0];
  EXPECT_EQ(found.numbers[0], 1);
  EXPECT_EQ(found.numbers[5], 2);
  EXPECT_EQ(found.numbers[kRows - 1], kCount - 3);
  EXPECT_EQ(std::accumulate(found.numbers.begin(), found.numbers.end(), 0.0), kCount);
}

// A part's nodes occur twice in the program: once for the loss, and once behind a barrier.
TEST(Gradients, OfAPartAreComputedFromACopy) {
  const auto tanhs = [](bool is_part) {
    Graph graph;
    const Value x = graph.parameter(ElementType::kF32, {2});
    if (is_part) graph.begin_part();
    const Value y = tanh(x * 2);
    graph.end_part();
    const std::vector<Value> wrt = {x};
    const Value loss = reduce_sum(y * y);
    const std::vector<Value> outputs = {loss, gradients(loss, wrt)[0]};
    const std::string text = to_text(wrt, outputs);
    EXPECT_EQ(text.find("optimization_barrier") != std::string::npos, is_part);
    size_t count = 0;
    for (size_t at = text.find("tanh"); at != std::string::npos; at = text.find("tanh", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(tanhs(false), 1u);
  EXPECT_EQ(tanhs(true), 2u);
}

}  // namespace
}  // namespace berth::stablehlo
