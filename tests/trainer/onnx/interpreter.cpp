#include "tests/trainer/onnx/interpreter.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "trainer/xla/stablehlo/operations.h"

namespace berth::onnx {
namespace {

using stablehlo::broadcast;
using stablehlo::compare;
using stablehlo::Comparison;
using stablehlo::convert;
using stablehlo::Dims;
using stablehlo::dot;
using Tensor = stablehlo::Value;
using stablehlo::range;
using stablehlo::reduce_sum;
using stablehlo::reshape;
using stablehlo::slice;
using stablehlo::transpose;

constexpr auto kF32 = stablehlo::ElementType::kF32;

// ---- Broadcasting as NumPy does -----------------------------------------------------------------

Dims broadcast_dims(const Dims& x, const Dims& y) {
  Dims dims(std::max(x.size(), y.size()), 1);
  for (const Dims* each : {&x, &y}) {
    for (size_t d = 0; d < each->size(); ++d) {
      int64_t& size = dims[dims.size() - each->size() + d];
      size = size == 1 ? (*each)[d] : size;
    }
  }
  return dims;
}

Tensor spread(Tensor x, const Dims& dims) {
  return broadcast(x, dims, range(dims.size() - x.shape().size(), x.shape().size()));
}

Tensor combine(Tensor x, Tensor y, const std::function<Tensor(Tensor, Tensor)>& f) {
  const Dims dims = broadcast_dims(x.shape(), y.shape());
  return f(spread(x, dims), spread(y, dims));
}

Tensor compared(Tensor x, Comparison comparison, Tensor y) {
  return convert(compare(x, comparison, y), kF32);
}

// ---- Operators ----------------------------------------------------------------------------------

int64_t axis_of(Tensor x, int64_t axis) { return axis < 0 ? axis + x.rank() : axis; }

Tensor without(Tensor x, const Dims& axes) {
  return reshape(x, stablehlo::sizes(x.shape(), stablehlo::others(x.rank(), axes)));
}

Tensor with(Tensor x, const Dims& axes) {
  Dims dims = x.shape();
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, 1);
  return reshape(x, dims);
}

Tensor matmul(Tensor x, Tensor y) {
  const auto outer_of = [](Tensor of) { return Dims(of.shape().begin(), of.shape().end() - 2); };
  const Dims outer = broadcast_dims(outer_of(x), outer_of(y)), batch = range(0, outer.size());
  const auto spread_outer = [&](Tensor of) {
    return spread(of, stablehlo::joined(outer, {of.size(-2), of.size(-1)}));
  };
  const auto rank = static_cast<int64_t>(outer.size());
  return dot(
      spread_outer(x), spread_outer(y),
      {.contracted_x = {rank + 1}, .contracted_y = {rank}, .batch_x = batch, .batch_y = batch});
}

// x [B,C,S], w [M,C,K], bias [M]: the sum over K of products with what stands k - pad behind.
Tensor convolve(Tensor x, Tensor w, Tensor bias, int64_t pad) {
  const Tensor padded = stablehlo::pad(x, 2, pad, pad);
  const Dims dims = {x.size(0), w.size(0), x.size(2)};
  Tensor sum = broadcast(bias, dims, {1});
  for (int64_t k = 0; k < w.size(2); ++k) {
    const Tensor tap = without(slice(w, 2, k, k + 1), {2});
    const Tensor behind = slice(padded, 2, k, k + x.size(2));
    const Tensor product = dot(tap, behind, {.contracted_x = {1}, .contracted_y = {1}});  // [M,B,S]
    sum = sum + transpose(product, {1, 0, 2});
  }
  return sum;
}

// The dimensions of `numbers` take the place of the axis.
Tensor gather(Tensor x, Tensor numbers, int64_t axis) {
  Dims first = stablehlo::others(x.rank(), {axis}), order;
  first.insert(first.begin(), axis);
  const Tensor ids = convert(numbers, stablehlo::ElementType::kS32);
  const Tensor rows = gather_rows(transpose(x, first), ids);
  const auto count = static_cast<size_t>(ids.rank()), before = static_cast<size_t>(axis);
  order = stablehlo::joined(range(count, before), range(0, count));
  order = stablehlo::joined(order, range(count + before, first.size() - 1 - before));
  return transpose(rows, order);
}

// The sums from the first element on, along the last axis.
Tensor cumulate(Tensor x) {
  const Dims square = {x.size(-1), x.size(-1)};
  const auto number = [&](int64_t dim) {
    return iota(x.graph(), stablehlo::ElementType::kS32, square, dim);
  };
  const Tensor is_before = compared(number(0), Comparison::kLessEqual, number(1));
  return dot(x, is_before, {.contracted_x = {x.rank() - 1}, .contracted_y = {0}});
}

std::vector<Tensor> split(Tensor x, int64_t axis, const Dims& sizes) {
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    parts.push_back(slice(x, axis, first, first + size));
    first += size;
  }
  return parts;
}

// ---- Models -------------------------------------------------------------------------------------

// The graph of a model for inputs of known sizes.
class Import {
 public:
  Tensor add(stablehlo::Array array) {
    const Tensor value = graph_.parameter(kF32, array.type.shape);
    known_[value.index()] = std::move(array);
    return value;
  }

  std::vector<Tensor> apply(const ReadNode& node, const std::vector<Tensor>& x) {
    if (node.op_type == "Split") return split(x[0], node.integer("axis"), integers(x[1]));
    const auto found = operators().find(node.op_type);
    if (found == operators().end()) throw std::runtime_error("no operator " + node.op_type);
    return {found->second(*this, node, x)};
  }

  std::vector<stablehlo::Array> compute(const std::vector<Tensor>& values) const {
    return stablehlo::interpret(values, known_);
  }

 private:
  using Operator = std::function<Tensor(Import&, const ReadNode&, const std::vector<Tensor>&)>;

  static Operator of_one(const std::function<Tensor(Tensor)>& f) {
    return [f](Import&, const ReadNode&, const auto& x) { return f(x[0]); };
  }
  static Operator of_two(const std::function<Tensor(Tensor, Tensor)>& f) {
    return [f](Import&, const ReadNode&, const auto& x) { return combine(x[0], x[1], f); };
  }
  static const std::map<std::string, Operator>& operators();

  // Sizes, axes and the like, which do not depend on what the model is asked to compute.
  Dims integers(Tensor x) const {
    const std::vector<double> numbers = compute({x})[0].numbers;
    return {numbers.begin(), numbers.end()};
  }
  Tensor vector_of(const Dims& numbers) {
    return add(stablehlo::Array::of({static_cast<int64_t>(numbers.size())},
                                    {numbers.begin(), numbers.end()}));
  }
  // 0 stands for the size that x has there, and -1 for what is left.
  static Tensor reshaped(Tensor x, Dims dims) {
    for (size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] == 0 ? x.shape().at(i) : dims[i];
    const auto rest = std::ranges::find(dims, -1);
    if (rest != dims.end()) {
      *rest = 1;
      *rest = x.type().elements() / stablehlo::TensorType{kF32, dims}.elements();
    }
    return reshape(x, dims);
  }

  stablehlo::Graph graph_;
  stablehlo::Inputs known_;
};

const std::map<std::string, Import::Operator>& Import::operators() {
  using X = const std::vector<Tensor>&;
  using N = const ReadNode&;
  static const std::map<std::string, Operator> kOperators = {
      {"Add", of_two([](Tensor x, Tensor y) { return x + y; })},
      {"Sub", of_two([](Tensor x, Tensor y) { return x - y; })},
      {"Mul", of_two([](Tensor x, Tensor y) { return x * y; })},
      {"Div", of_two([](Tensor x, Tensor y) { return x / y; })},
      {"Max", of_two([](Tensor x, Tensor y) { return maximum(x, y); })},
      {"Equal", of_two([](Tensor x, Tensor y) { return compared(x, Comparison::kEqual, y); })},
      {"LessOrEqual",
       of_two([](Tensor x, Tensor y) { return compared(x, Comparison::kLessEqual, y); })},
      {"Neg", of_one([](Tensor x) { return negate(x); })},
      {"Erf", of_one([](Tensor x) { return erf(x); })},
      {"Tanh", of_one([](Tensor x) { return tanh(x); })},
      {"Sin", of_one([](Tensor x) { return sin(x); })},
      {"Cos", of_one([](Tensor x) { return cos(x); })},
      {"Sigmoid", of_one([](Tensor x) { return 1.0 / (exp(negate(x)) + 1); })},
      {"Relu", of_one([](Tensor x) { return maximum(x, 0); })},
      {"Abs", of_one([](Tensor x) { return maximum(x, negate(x)); })},
      {"Not", of_one([](Tensor x) { return 1.0 - x; })},
      {"Cast", of_one([](Tensor x) { return x; })},
      {"Softmax",
       of_one([](Tensor x) { return stablehlo::softmax(x, [](Tensor p) { return p; }); })},
      {"Clip",
       [](Import&, N, X x) { return negate(maximum(negate(maximum(x[0], x[1])), negate(x[2]))); }},
      {"MatMul", [](Import&, N, X x) { return matmul(x[0], x[1]); }},
      {"ReduceSum",
       [](Import& to, N, X x) {
         const Dims axes = {axis_of(x[0], to.integers(x[1])[0])};
         return with(reduce_sum(x[0], axes), axes);
       }},
      {"ReduceMax", [](Import&, N node,
                       X x) { return reduce_max(x[0], {axis_of(x[0], node.integer("axes"))}); }},
      {"ReduceL2",
       [](Import&, N node, X x) {
         return sqrt(reduce_sum(x[0] * x[0], {axis_of(x[0], node.integer("axes"))}));
       }},
      {"LayerNormalization",
       [](Import&, N node, X x) {
         const Tensor y = normalize(x[0], double{node.reals.at("epsilon")}, kF32);
         const Tensor scaled = y * spread(x[1], y.shape());
         return x.size() > 2 ? scaled + spread(x[2], y.shape()) : scaled;
       }},
      {"Conv",
       [](Import&, N node, X x) { return convolve(x[0], x[1], x[2], node.integer("pads")); }},
      {"CumSum",
       [](Import& to, N, X x) {
         if (to.integers(x[1])[0] + 1 != x[0].rank()) throw std::runtime_error("another axis");
         return cumulate(x[0]);
       }},
      {"Gather", [](Import&, N node, X x) { return gather(x[0], x[1], node.integer("axis")); }},
      {"Slice",
       [](Import& to, N, X x) {
         const auto only = [&](size_t i) { return to.integers(x[i]).at(0); };
         return slice(x[0], axis_of(x[0], only(3)), only(1), only(2));
       }},
      {"Concat",
       [](Import&, N node, X x) {
         return stablehlo::concatenate(x, axis_of(x[0], node.integer("axis")));
       }},
      {"Reshape", [](Import& to, N, X x) { return reshaped(x[0], to.integers(x[1])); }},
      {"Transpose", [](Import&, N node, X x) { return transpose(x[0], node.integers.at("perm")); }},
      {"Squeeze", [](Import& to, N, X x) { return without(x[0], to.integers(x[1])); }},
      {"Unsqueeze", [](Import& to, N, X x) { return with(x[0], to.integers(x[1])); }},
      {"Shape",
       [](Import& to, N node, X x) {
         const auto first = x[0].shape().begin();
         return to.vector_of({first + node.integer("start"), first + node.integer("end")});
       }},
      {"Range",
       [](Import& to, N, X x) {
         Dims numbers;
         for (int64_t i = to.integers(x[0])[0]; i < to.integers(x[1])[0]; ++i) numbers.push_back(i);
         return to.vector_of(numbers);
       }},
  };
  return kOperators;
}

}  // namespace

Arrays run_model(const ReadModel& model, const Arrays& inputs) {
  Import graph;
  std::map<std::string, Tensor> values;
  for (const auto& [name, array] : inputs) values[name] = graph.add(array);
  for (const auto& [name, tensor] : model.initializers) {
    values[name] = graph.add(stablehlo::Array::of(tensor.dims, tensor.values()));
  }
  for (const ReadNode& node : model.nodes) {
    std::vector<Tensor> arguments;
    for (const std::string& input : node.inputs) {
      if (!values.contains(input)) throw std::runtime_error(node.name + " reads " + input);
      arguments.push_back(values.at(input));
    }
    const std::vector<Tensor> results = graph.apply(node, arguments);
    for (size_t i = 0; i < node.outputs.size(); ++i) values[node.outputs[i]] = results.at(i);
  }
  std::vector<Tensor> outputs;
  for (const ReadPort& port : model.outputs) outputs.push_back(values.at(port.name));
  const std::vector<stablehlo::Array> computed = graph.compute(outputs);
  Arrays results;
  for (size_t i = 0; i < computed.size(); ++i) results[model.outputs[i].name] = computed[i];
  return results;
}

}  // namespace berth::onnx
