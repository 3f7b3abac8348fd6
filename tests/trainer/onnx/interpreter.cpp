#include "tests/trainer/onnx/interpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace berth::onnx {
namespace {

using Sizes = std::vector<int64_t>;

int64_t product(const Sizes& dims, size_t first = 0, size_t end = SIZE_MAX) {
  int64_t result = 1;
  for (size_t i = first; i < std::min(end, dims.size()); ++i) result *= dims[i];
  return result;
}

size_t axis_of(const Array& x, int64_t axis) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.dims.size()) : axis);
}

// The places in x of the elements of an array of the shape `dims`, to which x is broadcast.
std::vector<size_t> broadcast_places(const Sizes& x, const Sizes& dims) {
  std::vector<size_t> places(static_cast<size_t>(product(dims)));
  for (size_t i = 0; i < places.size(); ++i) {
    size_t rest = i, place = 0, stride = 1;
    for (size_t d = 0; d < x.size(); ++d) {
      const auto size = static_cast<size_t>(dims[dims.size() - 1 - d]);
      const auto own = static_cast<size_t>(x[x.size() - 1 - d]);
      if (own != size && own != 1) throw std::runtime_error("cannot be broadcast");
      if (own > 1) place += rest % size * stride;
      rest /= size;
      stride *= own;
    }
    places[i] = place;
  }
  return places;
}

Sizes broadcast_dims(const Sizes& x, const Sizes& y) {
  Sizes dims(std::max(x.size(), y.size()), 1);
  for (const Sizes* each : {&x, &y}) {
    for (size_t d = 0; d < each->size(); ++d) {
      int64_t& size = dims[dims.size() - each->size() + d];
      size = size == 1 ? (*each)[d] : size;
    }
  }
  return dims;
}

Array combine(const Array& x, const Array& y, const std::function<double(double, double)>& f) {
  Array result{.dims = broadcast_dims(x.dims, y.dims)};
  const auto of_x = broadcast_places(x.dims, result.dims);
  const auto of_y = broadcast_places(y.dims, result.dims);
  for (size_t i = 0; i < of_x.size(); ++i) {
    result.values.push_back(f(x.values[of_x[i]], y.values[of_y[i]]));
  }
  return result;
}

Array map(Array x, const std::function<double(double)>& f) {
  std::ranges::transform(x.values, x.values.begin(), f);
  return x;
}

Array matmul(const Array& x, const Array& y) {
  const Sizes outer_x(x.dims.begin(), x.dims.end() - 2), outer_y(y.dims.begin(), y.dims.end() - 2);
  Array result{.dims = broadcast_dims(outer_x, outer_y)};
  const auto of_x = broadcast_places(outer_x, result.dims);
  const auto of_y = broadcast_places(outer_y, result.dims);
  const auto n = static_cast<size_t>(x.dims.end()[-2]), k = static_cast<size_t>(x.dims.back());
  const auto m = static_cast<size_t>(y.dims.back());
  if (y.dims.end()[-2] != x.dims.back()) throw std::runtime_error("inner sizes differ");
  for (size_t batch = 0; batch < of_x.size(); ++batch) {
    for (size_t row = 0; row < n; ++row) {
      for (size_t column = 0; column < m; ++column) {
        double sum = 0;
        for (size_t i = 0; i < k; ++i) {
          sum += x.values[(of_x[batch] * n + row) * k + i] *
                 y.values[(of_y[batch] * k + i) * m + column];
        }
        result.values.push_back(sum);
      }
    }
  }
  result.dims.insert(result.dims.end(), {x.dims.end()[-2], y.dims.back()});
  return result;
}

// Calls f(row) for each row of the last axis, which it may change.
Array of_rows(Array x, const std::function<void(std::span<double>)>& f) {
  const auto width = static_cast<size_t>(x.dims.back());
  for (size_t at = 0; at < x.values.size(); at += width) f(std::span(x.values).subspan(at, width));
  return x;
}

void softmax_row(std::span<double> row) {
  const double most = *std::ranges::max_element(row);
  for (double& x : row) x = std::exp(x - most);
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  for (double& x : row) x /= sum;
}

void normalize_row(std::span<double> row, double epsilon, const Array& scale, const Array* bias) {
  const auto width = static_cast<double>(row.size());
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / width;
  double variance = 0;
  for (const double x : row) variance += (x - mean) * (x - mean) / width;
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = (row[i] - mean) / std::sqrt(variance + epsilon) * scale.values[i];
    if (bias != nullptr) row[i] += bias->values[i];
  }
}

Array convolve(const Array& x, const Array& w, const Array& bias, int64_t pad) {
  const int64_t batch = x.dims[0], inputs = x.dims[1], length = x.dims[2], taps = w.dims[2];
  Array result{.dims = {batch, w.dims[0], length}};
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t out = 0; out < w.dims[0]; ++out) {
      for (int64_t at = 0; at < length; ++at) {
        double sum = bias.values[static_cast<size_t>(out)];
        for (int64_t in = 0; in < inputs; ++in) {
          for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t from = at + tap - pad;
            if (from < 0 || from >= length) continue;
            sum += x.values[static_cast<size_t>((b * inputs + in) * length + from)] *
                   w.values[static_cast<size_t>((out * inputs + in) * taps + tap)];
          }
        }
        result.values.push_back(sum);
      }
    }
  }
  return result;
}

// The slices of x along an axis with these numbers.
Array take(const Array& x, size_t axis, const std::vector<int64_t>& numbers) {
  const int64_t outer = product(x.dims, 0, axis), inner = product(x.dims, axis + 1);
  Array result{.dims = x.dims};
  result.dims[axis] = static_cast<int64_t>(numbers.size());
  for (int64_t i = 0; i < outer; ++i) {
    for (const int64_t number : numbers) {
      if (number < 0 || number >= x.dims[axis]) throw std::runtime_error("outside of the axis");
      const auto begin = x.values.begin() + (i * x.dims[axis] + number) * inner;
      result.values.insert(result.values.end(), begin, begin + inner);
    }
  }
  return result;
}

std::vector<int64_t> integers(const Array& x) {
  std::vector<int64_t> result;
  for (const double value : x.values) result.push_back(static_cast<int64_t>(value));
  return result;
}

std::vector<int64_t> counted(int64_t first, int64_t end) {
  std::vector<int64_t> numbers(static_cast<size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Array gather(const Array& x, const Array& numbers, size_t axis) {
  Array result = take(x, axis, integers(numbers));
  result.dims.erase(result.dims.begin() + static_cast<int64_t>(axis));
  result.dims.insert(result.dims.begin() + static_cast<int64_t>(axis), numbers.dims.begin(),
                     numbers.dims.end());
  return result;
}

Array cumulate(Array x, size_t axis) {
  const int64_t inner = product(x.dims, axis + 1);
  for (int64_t i = inner; i < static_cast<int64_t>(x.values.size()); ++i) {
    if (i / inner % x.dims[axis] == 0) continue;
    x.values[static_cast<size_t>(i)] += x.values[static_cast<size_t>(i - inner)];
  }
  return x;
}

Array reshape(Array x, Sizes dims) {
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] == 0 ? x.dims.at(i) : dims[i];
  const auto rest = std::ranges::find(dims, -1);
  if (rest != dims.end()) *rest = -static_cast<int64_t>(x.values.size()) / product(dims);
  if (product(dims) != static_cast<int64_t>(x.values.size()))
    throw std::runtime_error("other size");
  x.dims = dims;
  return x;
}

Array transpose(const Array& x, const Sizes& permutation) {
  Array result;
  Sizes strides;
  for (const int64_t axis : permutation) {
    result.dims.push_back(x.dims[static_cast<size_t>(axis)]);
    strides.push_back(product(x.dims, static_cast<size_t>(axis) + 1));
  }
  for (int64_t i = 0; i < static_cast<int64_t>(x.values.size()); ++i) {
    int64_t rest = i, place = 0;
    for (size_t d = strides.size(); d-- > 0; rest /= result.dims[d]) {
      place += rest % result.dims[d] * strides[d];
    }
    result.values.push_back(x.values[static_cast<size_t>(place)]);
  }
  return result;
}

Array squeeze(Array x, const Array& axes) {
  Sizes numbers = integers(axes);
  std::ranges::sort(numbers, std::greater());
  for (const int64_t axis : numbers) x.dims.erase(x.dims.begin() + axis);
  return x;
}

Array unsqueeze(Array x, const Array& axes) {
  for (const int64_t axis : integers(axes)) x.dims.insert(x.dims.begin() + axis, 1);
  return x;
}

std::vector<Array> split(const Array& x, size_t axis, const Array& sizes) {
  std::vector<Array> parts;
  int64_t first = 0;
  for (const int64_t size : integers(sizes)) {
    parts.push_back(take(x, axis, counted(first, first + size)));
    first += size;
  }
  return parts;
}

Array vector_of(const Sizes& numbers) {
  return {.dims = {static_cast<int64_t>(numbers.size())},
          .values = {numbers.begin(), numbers.end()}};
}

Array concat(const std::vector<Array>& parts, size_t axis) {
  Array result{.dims = parts[0].dims};
  result.dims[axis] = 0;
  for (const Array& part : parts) result.dims[axis] += part.dims[axis];
  for (int64_t i = 0; i < product(result.dims, 0, axis); ++i) {
    for (const Array& part : parts) {
      const int64_t size = product(part.dims, axis);
      const auto begin = part.values.begin() + i * size;
      result.values.insert(result.values.end(), begin, begin + size);
    }
  }
  return result;
}

Array reduce(const Array& x, size_t axis, const std::function<double(double, double)>& f) {
  Array result = take(x, axis, {0});
  for (int64_t i = 1; i < x.dims[axis]; ++i) {
    const Array slice = take(x, axis, {i});
    std::ranges::transform(result.values, slice.values, result.values.begin(), f);
  }
  return result;
}

// Without the axis, for nodes that name it by an attribute.
Array reduce(const ReadNode& node, const Array& x, const std::function<double(double, double)>& f) {
  const size_t axis = axis_of(x, node.integer("axes"));
  Array result = reduce(x, axis, f);
  if (node.integer("keepdims") == 0) {
    result.dims.erase(result.dims.begin() + static_cast<int64_t>(axis));
  }
  return result;
}

double larger(double x, double y) { return std::max(x, y); }

using Operator = std::function<std::vector<Array>(const ReadNode&, const std::vector<Array>&)>;

Operator of_one(const std::function<double(double)>& f) {
  return [f](const ReadNode&, const std::vector<Array>& x) { return std::vector{map(x[0], f)}; };
}

Operator of_two(const std::function<double(double, double)>& f) {
  return [f](const ReadNode&, const std::vector<Array>& x) {
    return std::vector{combine(x[0], x[1], f)};
  };
}

Operator of_node(const std::function<Array(const ReadNode&, const std::vector<Array>&)>& f) {
  return [f](const ReadNode& node, const std::vector<Array>& x) { return std::vector{f(node, x)}; };
}

const std::map<std::string, Operator>& operators() {
  static const std::map<std::string, Operator> kOperators = {
      {"Add", of_two(std::plus())},
      {"Sub", of_two(std::minus())},
      {"Mul", of_two(std::multiplies())},
      {"Div", of_two(std::divides())},
      {"Equal", of_two([](double x, double y) { return x == y ? 1 : 0; })},
      {"Neg", of_one(std::negate())},
      {"Erf", of_one([](double x) { return std::erf(x); })},
      {"Tanh", of_one([](double x) { return std::tanh(x); })},
      {"Sigmoid", of_one([](double x) { return 1 / (1 + std::exp(-x)); })},
      {"Relu", of_one([](double x) { return std::max(x, 0.0); })},
      {"Sin", of_one([](double x) { return std::sin(x); })},
      {"Cos", of_one([](double x) { return std::cos(x); })},
      {"Abs", of_one([](double x) { return std::abs(x); })},
      {"LessOrEqual", of_two([](double x, double y) { return x <= y ? 1 : 0; })},
      {"ReduceSum", of_node([](const ReadNode&, const auto& x) {
         return reduce(x[0], axis_of(x[0], integers(x[1])[0]), std::plus());
       })},
      {"ReduceMax",
       of_node([](const ReadNode& node, const auto& x) { return reduce(node, x[0], larger); })},
      {"ReduceL2", of_node([](const ReadNode& node, const auto& x) {
         const Array squares = map(x[0], [](double value) { return value * value; });
         return map(reduce(node, squares, std::plus()), [](double sum) { return std::sqrt(sum); });
       })},
      {"Max", of_two(larger)},
      {"Not", of_one([](double x) { return x == 0 ? 1 : 0; })},
      {"Cast", of_one([](double x) { return x; })},
      {"Clip", of_node([](const ReadNode&, const auto& x) {
         return map(
             x[0], [&](double value) { return std::clamp(value, x[1].values[0], x[2].values[0]); });
       })},
      {"MatMul", of_node([](const ReadNode&, const auto& x) { return matmul(x[0], x[1]); })},
      {"Softmax",
       of_node([](const ReadNode&, const auto& x) { return of_rows(x[0], softmax_row); })},
      {"LayerNormalization", of_node([](const ReadNode& node, const auto& x) {
         const double epsilon = double{node.reals.at("epsilon")};
         const Array* const bias = x.size() > 2 ? &x[2] : nullptr;
         return of_rows(x[0], [&](auto row) { normalize_row(row, epsilon, x[1], bias); });
       })},
      {"Conv", of_node([](const ReadNode& node, const auto& x) {
         return convolve(x[0], x[1], x[2], node.integer("pads"));
       })},
      {"CumSum", of_node([](const ReadNode&, const auto& x) {
         return cumulate(x[0], axis_of(x[0], integers(x[1])[0]));
       })},
      {"Gather", of_node([](const ReadNode& node, const auto& x) {
         return gather(x[0], x[1], axis_of(x[0], node.integer("axis")));
       })},
      {"Slice", of_node([](const ReadNode&, const auto& x) {
         return take(x[0], axis_of(x[0], integers(x[3])[0]),
                     counted(integers(x[1])[0], integers(x[2])[0]));
       })},
      {"Split",
       [](const ReadNode& node, const auto& x) {
         return split(x[0], axis_of(x[0], node.integer("axis")), x[1]);
       }},
      {"Concat", of_node([](const ReadNode& node, const auto& x) {
         return concat(x, axis_of(x[0], node.integer("axis")));
       })},
      {"Reshape",
       of_node([](const ReadNode&, const auto& x) { return reshape(x[0], integers(x[1])); })},
      {"Transpose", of_node([](const ReadNode& node, const auto& x) {
         return transpose(x[0], node.integers.at("perm"));
       })},
      {"Squeeze", of_node([](const ReadNode&, const auto& x) { return squeeze(x[0], x[1]); })},
      {"Unsqueeze", of_node([](const ReadNode&, const auto& x) { return unsqueeze(x[0], x[1]); })},
      {"Shape", of_node([](const ReadNode& node, const auto& x) {
         const auto first = x[0].dims.begin();
         return vector_of({first + node.integer("start"), first + node.integer("end")});
       })},
      {"Range", of_node([](const ReadNode&, const auto& x) {
         return vector_of(counted(integers(x[0])[0], integers(x[1])[0]));
       })},
  };
  return kOperators;
}

}  // namespace

std::map<std::string, Array> run_model(const ReadModel& model,
                                       const std::map<std::string, Array>& inputs) {
  std::map<std::string, Array> values = inputs;
  for (const auto& [name, tensor] : model.initializers) {
    values[name] = {.dims = tensor.dims, .values = tensor.values()};
  }
  for (const ReadNode& node : model.nodes) {
    std::vector<Array> arguments;
    for (const std::string& input : node.inputs) {
      if (!values.contains(input)) throw std::runtime_error(node.name + " reads " + input);
      arguments.push_back(values.at(input));
    }
    const auto found = operators().find(node.op_type);
    if (found == operators().end()) throw std::runtime_error("no operator " + node.op_type);
    const std::vector<Array> results = found->second(node, arguments);
    for (size_t i = 0; i < node.outputs.size(); ++i) values[node.outputs[i]] = results.at(i);
  }
  return values;
}

}  // namespace berth::onnx
