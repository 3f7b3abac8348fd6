#include "trainer/xla/stablehlo/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "storage/base/error.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

// The text of a program whose inputs are all its parameters, in their order.
std::string text_of(const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
  return to_text(inputs, outputs);
}

// What stands between the first line of "main" and "return".
std::string body(const std::string& text) {
  const size_t begin = text.find("{\n", text.find("@main")) + 2;
  return text.substr(begin, text.find("\nreturn ", begin) + 1 - begin);
}

TEST(Text, IsAModuleWithOneFunction) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2, 3});
  const Value y = graph.parameter(ElementType::kS32, {});
  EXPECT_EQ(text_of({x, y}, {x + x, y}),
            "module @berth {\n"
            "func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<i32>) -> "
            "(tensor<2x3xf32>, tensor<i32>) {\n"
            "%0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>\n"
            "return %0, %arg1 : tensor<2x3xf32>, tensor<i32>\n"
            "}\n}\n");
}

TEST(Text, DonatesAliasedInputs) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2});
  const std::vector<Value> inputs = {x}, outputs = {reduce_sum(x), x * x};
  const std::vector<Alias> aliases = {{.input = 0, .output = 1}};
  EXPECT_NE(
      to_text(inputs, outputs, aliases).find("%arg0: tensor<2xf32> {tf.aliasing_output = 1 : i32}"),
      std::string::npos);
  const std::vector<Alias> wrong = {{.input = 0, .output = 0}};
  EXPECT_THROW(to_text(inputs, outputs, wrong), Error);
}

TEST(Text, LeavesOutUnusedNodes) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2});
  exp(x);
  EXPECT_EQ(body(text_of({x}, {tanh(x)})), "%0 = stablehlo.tanh %arg0 : tensor<2xf32>\n");
}

TEST(Text, WritesEqualExpressionsOnce) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2});
  EXPECT_EQ(body(text_of({x}, {exp(x) * exp(x)})),
            "%0 = stablehlo.exponential %arg0 : tensor<2xf32>\n"
            "%1 = stablehlo.multiply %0, %0 : tensor<2xf32>\n");
}

TEST(Text, WritesNumbersExactlyAndWithAPoint) {
  Graph graph;
  const auto of = [&](double number, ElementType element) {
    return body(text_of({}, {constant(graph, number, element)}));
  };
  EXPECT_EQ(of(1e-8, ElementType::kF32),
            "%0 = stablehlo.constant dense<9.99999994e-09> : tensor<f32>\n");
  EXPECT_EQ(of(1, ElementType::kBF16),
            "%0 = stablehlo.constant dense<1.00000000e+00> : tensor<bf16>\n");
  EXPECT_EQ(of(INFINITY, ElementType::kF32),
            "%0 = stablehlo.constant dense<0x7F800000> : tensor<f32>\n");
  EXPECT_EQ(of(4294967295.0, ElementType::kU32),
            "%0 = stablehlo.constant dense<4294967295> : tensor<ui32>\n");
  EXPECT_EQ(of(1, ElementType::kPred), "%0 = stablehlo.constant dense<true> : tensor<i1>\n");
  const std::vector<int32_t> array = {3, -1};
  EXPECT_EQ(body(text_of({}, {constant(graph, array)})),
            "%0 = stablehlo.constant dense<[3, -1]> : tensor<2xi32>\n");
  const std::vector<float> numbers = {0.5f, -3};
  EXPECT_EQ(body(text_of({}, {constant(graph, numbers)})),
            "%0 = stablehlo.constant dense<[5.00000000e-01, -3.00000000e+00]> : tensor<2xf32>\n");
}

TEST(Text, StatesThePrecisionOfProducts) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2, 3, 4});
  const Value y = graph.parameter(ElementType::kF32, {2, 5, 4});
  const DotDims dims{.contracted_x = {2}, .contracted_y = {2}, .batch_x = {0}, .batch_y = {0}};
  EXPECT_EQ(body(text_of({x, y}, {dot(x, y, dims)})),
            "%0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], "
            "contracting_dims = [2] x [2], precision = [HIGHEST, HIGHEST] : "
            "(tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>\n");
  const Value bf16 = dot(convert(x, ElementType::kBF16), convert(y, ElementType::kBF16), dims);
  EXPECT_NE(text_of({x, y}, {bf16}).find("precision = [DEFAULT, DEFAULT]"), std::string::npos);
}

TEST(Text, NamesTheFirstResultOfABarrier) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2}),
              start = graph.parameter(ElementType::kF32, {});
  EXPECT_EQ(body(text_of({x, start}, {exp(barrier(x, start))})),
            "%0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2xf32>, tensor<f32>\n"
            "%1 = stablehlo.exponential %0#0 : tensor<2xf32>\n");
}

TEST(Text, NamesAllReplicasOfAnAllReduce) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2});
  EXPECT_EQ(all_reduce(x, 1), x);
  EXPECT_EQ(body(text_of({x}, {all_reduce(x, 3)})),
            "%0 = \"stablehlo.all_reduce\"(%arg0) <{replica_groups = dense<[[0, 1, 2]]> : "
            "tensor<1x3xi64>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
            "%sum = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %sum : tensor<f32>\n}) "
            ": (tensor<2xf32>) -> tensor<2xf32>\n");
}

TEST(Text, NeedsAllInputs) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2}),
              y = graph.parameter(ElementType::kF32, {2});
  EXPECT_THROW(text_of({x}, {x + y}), Error);
  EXPECT_THROW(text_of({x, x + y}, {x}), Error);
  EXPECT_NO_THROW(text_of({x, y}, {exp(x)}));
}

TEST(Operations, RefuseTypesThatDoNotFit) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2, 3});
  const Value y = graph.parameter(ElementType::kF32, {3, 2});
  const Value ids = graph.parameter(ElementType::kS32, {2});
  EXPECT_THROW(x + y, Error);
  EXPECT_THROW(x * ids, Error);
  EXPECT_THROW(exp(ids), Error);
  EXPECT_THROW(x & x, Error);
  EXPECT_THROW(select(ids, x, x), Error);
  EXPECT_THROW(reshape(x, {4}), Error);
  EXPECT_THROW(broadcast(x, {2, 4}, {0, 1}), Error);
  EXPECT_THROW(transpose(x, {0, 0}), Error);
  EXPECT_THROW(slice(x, 1, 2, 4), Error);
  EXPECT_THROW(slice(x, 2, 0, 1), Error);
  EXPECT_THROW(concatenate({x, y}, 0), Error);
  EXPECT_THROW(reduce_sum(x, {2}), Error);
  EXPECT_THROW(dot(x, y, {.contracted_x = {0}, .contracted_y = {0}}), Error);
  EXPECT_THROW(gather_rows(x, x), Error);
  EXPECT_THROW(scatter_rows(y, ids, 5), Error);
}

TEST(Operations, NameWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.parameter(ElementType::kF32, {2}),
              y = graph.parameter(ElementType::kBF16, {2});
  try {
    x + y;
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInternal);
    EXPECT_STREQ(error.what(), "add: the types differ (operands: tensor<2xf32>, tensor<2xbf16>)");
  }
}

}  // namespace
}  // namespace berth::stablehlo
