#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tests/trainer/xla/stablehlo/interpreter.h"
#include "trainer/xla/stablehlo/gradients.h"
#include "trainer/xla/stablehlo/operations.h"

// Every operation in a small program with its gradients, for the tests that run them.
namespace berth::stablehlo {

using Function = std::function<Value(const std::vector<Value>&)>;

// Some function of tensors, for which derivatives and finite differences are compared.
struct Case {
  const char* name;
  std::vector<Dims> shapes;
  Function function;
  double low = -1.5, high = 1.5;  // the range of the operands
};

// Numbers in [low, high) that look random, and are far from each other.
inline std::vector<double> numbers(int64_t count, double low, double high, int seed) {
  std::vector<double> all(static_cast<size_t>(count));
  double x = 0.137 * (seed + 1);
  for (double& number : all) {
    x = std::fmod(x + 0.618033988749895, 1.0);
    number = low + (high - low) * x;
  }
  return all;
}

inline Value ids(const std::vector<Value>& x, const std::vector<int32_t>& numbers, Dims shape) {
  return reshape(constant(x[0].graph(), numbers), std::move(shape));
}

inline const std::vector<Case>& cases() {
  using X = const std::vector<Value>&;
  static const std::vector<Case> all = {
      {"negate", {{3}}, [](X x) { return negate(x[0]); }},
      {"exp", {{3}}, [](X x) { return exp(x[0]); }},
      {"expm1", {{3}}, [](X x) { return expm1(x[0]); }},
      {"log", {{3}}, [](X x) { return log(x[0]); }, 0.3, 2},
      {"log1p", {{3}}, [](X x) { return log1p(x[0]); }, -0.5, 2},
      {"tanh", {{3}}, [](X x) { return tanh(x[0]); }},
      {"sqrt", {{3}}, [](X x) { return sqrt(x[0]); }, 0.3, 2},
      {"rsqrt", {{3}}, [](X x) { return rsqrt(x[0]); }, 0.3, 2},
      {"erf", {{5}}, [](X x) { return erf(x[0]); }, -3, 3},
      {"cos", {{5}}, [](X x) { return cos(x[0]); }, -3, 3},
      {"sin", {{5}}, [](X x) { return sin(x[0]); }, -3, 3},
      {"add", {{2, 3}, {2, 3}}, [](X x) { return x[0] + x[1]; }},
      {"add a scalar", {{2, 3}, {}}, [](X x) { return x[0] + x[1]; }},
      {"subtract", {{3}, {3}}, [](X x) { return x[0] - x[1]; }},
      {"subtract from a number", {{3}}, [](X x) { return 2.5 - x[0]; }},
      {"multiply", {{3}, {3}}, [](X x) { return x[0] * x[1]; }},
      {"multiply by itself", {{3}}, [](X x) { return x[0] * x[0] * x[0]; }},
      {"divide", {{3}, {3}}, [](X x) { return x[0] / x[1]; }, 0.5, 2},
      {"maximum", {{4}, {4}}, [](X x) { return maximum(x[0], x[1]); }},
      {"maximum with a number", {{4}}, [](X x) { return maximum(x[0], 0.2); }},
      {"select",
       {{4}, {4}},
       [](X x) { return select(compare(x[0], Comparison::kLess, 0.1), x[0] * x[1], x[1]); }},
      {"select a number",
       {{4}},
       [](X x) { return select(compare(x[0], Comparison::kLess, 0.1), x[0] * x[0], 0.5); }},
      {"broadcast",
       {{2, 3}},
       [](X x) {
         return broadcast(x[0], {2, 4, 3}, {0, 2});
       }},
      {"broadcast a size of one",
       {{2, 1}},
       [](X x) {
         return broadcast(x[0], {2, 4}, {0, 1});
       }},
      {"reshape",
       {{2, 3}},
       [](X x) {
         return reshape(x[0], {3, 2});
       }},
      {"transpose",
       {{2, 3, 2}},
       [](X x) {
         return transpose(x[0], {2, 0, 1});
       }},
      {"slice", {{2, 5}}, [](X x) { return slice(x[0], 1, 1, 4); }},
      {"concatenate",
       {{2, 1}, {2, 3}},
       [](X x) {
         return concatenate({x[0], x[1]}, 1);
       }},
      {"pad", {{2, 3}}, [](X x) { return pad(x[0], 1, 2, 1); }},
      {"reduce_sum",
       {{2, 3, 2}},
       [](X x) {
         return reduce_sum(x[0], {0, 2});
       }},
      {"softmax",
       {{2, 2, 3}},
       [](X x) { return softmax(x[0], [](Value p) { return p * constant(p.graph(), 2); }); }},
      {"normalize", {{2, 4}}, [](X x) { return normalize(x[0], 0.1, ElementType::kF32); }},
      {"dot",
       {{2, 3}, {4, 3}},
       [](X x) { return dot(x[0], x[1], {.contracted_x = {1}, .contracted_y = {1}}); }},
      {"dot of the first dimension",
       {{3, 2}, {3, 4}},
       [](X x) { return dot(x[0], x[1], {.contracted_x = {0}, .contracted_y = {0}}); }},
      {"dot with batches",
       {{2, 3, 2, 4}, {3, 5, 2, 4}},
       [](X x) {
         return dot(
             x[0], x[1],
             {.contracted_x = {3}, .contracted_y = {3}, .batch_x = {2, 1}, .batch_y = {2, 0}});
       }},
      {"dot over two dimensions",
       {{2, 3, 4}, {4, 5, 2}},
       [](X x) {
         return dot(x[0], x[1], {.contracted_x = {0, 2}, .contracted_y = {2, 0}});
       }},
      {"gather_rows",
       {{4, 3}},
       [](X x) {
         return gather_rows(x[0], ids(x, {1, 3, 1, 0, 1, 2}, {2, 3}));
       }},
      {"gather_rows of many",
       {{70, 2}},
       [](X x) {
         return gather_rows(x[0], ids(x, {1, 3, 69, 0, 1, 2}, {2, 3}));
       }},
      {"gather_rows over several blocks",
       {{100, 2}},
       [](X x) {
         std::vector<int32_t> numbers(150, 7);  // an id that takes more than three blocks
         for (int32_t i = 0; i < 50; ++i) numbers[static_cast<size_t>(i)] = i * 31 % 100;
         return gather_rows(x[0], ids(x, numbers, {150}));
       }},
      {"a part that is computed again",
       {{3}, {3}},
       [](X x) {
         x[0].graph().begin_part();
         const Value y = tanh(x[0] * x[1]) * exp(x[1]);
         x[0].graph().begin_part();
         const Value z = tanh(y * x[1] + tanh(y));
         x[0].graph().end_part();
         return z * x[0];
       }},
  };
  return all;
}

// A weighted sum of the function's elements, and its gradients.
struct Program {
  explicit Program(const Case& which) {
    for (const Dims& shape : which.shapes) {
      parameters.push_back(graph.parameter(ElementType::kF32, shape));
      inputs[parameters.back().index()] =
          Array::of(shape, numbers(parameters.back().type().elements(), which.low, which.high,
                                   static_cast<int>(parameters.size())));
    }
    const Value y = which.function(parameters);
    const Value weights = graph.parameter(ElementType::kF32, y.shape());
    inputs[weights.index()] = Array::of(y.shape(), numbers(y.type().elements(), 0.5, 2, 9));
    loss = reduce_sum(y * weights);
    derivatives = gradients(loss, parameters);
  }

  double loss_at(const Inputs& at) const {
    return interpret(std::span<const Value>(&loss, 1), at)[0].numbers[0];
  }

  Graph graph;
  std::vector<Value> parameters;
  Inputs inputs;
  Value loss;
  std::vector<Value> derivatives;
};

}  // namespace berth::stablehlo
