#include "tests/trainer/xla/stablehlo/interpreter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "storage/base/dtype.h"
#include "tests/trainer/xla/stablehlo/scalar_functions.h"

namespace berth::stablehlo {
namespace {

using Place = std::vector<int64_t>;

// Calls fn(place) for all places of `shape`, in the order in which elements are stored.
template <typename Fn>
void for_each_place(const Dims& shape, const Fn& fn) {
  Place place(shape.size());
  const int64_t count = TensorType{ElementType::kF32, shape}.elements();
  for (int64_t i = 0; i < count; ++i) {
    fn(place, static_cast<size_t>(i));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++place[d] < shape[d]) break;
      place[d] = 0;
    }
  }
}

// Where the elements of a tensor lie: that at `place` is number base + sum of place[d] *
// strides[d].
struct View {
  Dims strides;
  int64_t base = 0;

  size_t at(const Place& place) const {
    int64_t number = base;
    for (size_t d = 0; d < strides.size(); ++d) number += place[d] * strides[d];
    return static_cast<size_t>(number);
  }
};

View whole(const Dims& shape) {
  View view{.strides = Dims(shape.size())};
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) view.strides[d] = stride;
  return view;
}

class Interpreter {
 public:
  Interpreter(const Graph& graph, const Inputs& inputs) : graph_(graph), inputs_(inputs) {}

  const Array& value(uint32_t index) {
    if (const auto known = values_.find(index); known != values_.end()) return known->second;
    const Node& node = graph_.node(index);
    std::vector<const Array*> x;
    for (const uint32_t operand : node.operands) x.push_back(&value(operand));
    Array y = node.op == Op::kParameter ? inputs_.at(index) : compute(node, x);
    if (y.type != node.type) throw std::logic_error("an input of another type");
    return values_[index] = std::move(y);
  }

 private:
  using Operands = std::vector<const Array*>;

  static Array empty(const TensorType& type) {
    Array y{type};
    const auto count = static_cast<size_t>(type.elements());
    if (is_float(type.element)) {
      y.numbers.resize(count);
    } else {
      y.words.resize(count);
    }
    return y;
  }
  static void copy(const Array& from, size_t i, Array& to, size_t j) {
    if (is_float(to.type.element)) {
      to.numbers[j] = from.numbers[i];
    } else {
      to.words[j] = from.words[i];
    }
  }
  static uint64_t wrap(uint64_t word, ElementType type) {
    if (type == ElementType::kPred) return word & 1;
    if (type == ElementType::kU32) return word & 0xFFFFFFFFu;
    if (type == ElementType::kS32) {
      return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(word)));
    }
    return word;
  }
  static Array constant(const Node& node) {
    Array y = empty(node.type);
    const Dims& bits = node.attributes[0];
    for (size_t i = 0; i < std::max(y.numbers.size(), y.words.size()); ++i) {
      const int64_t word = bits[bits.size() == 1 ? 0 : i];
      if (node.type.element == ElementType::kF32) {
        y.numbers[i] = std::bit_cast<float>(static_cast<uint32_t>(word));
      } else if (node.type.element == ElementType::kBF16) {
        y.numbers[i] = from_bf16(static_cast<uint16_t>(word));
      } else {
        y.words[i] = static_cast<uint64_t>(word);
      }
    }
    return y;
  }

  static Array convert(const TensorType& type, const Array& x) {
    Array y = empty(type);
    for (size_t i = 0; i < std::max(x.numbers.size(), x.words.size()); ++i) {
      if (!is_float(type.element)) {
        y.words[i] =
            wrap(x.words.empty() ? static_cast<uint64_t>(static_cast<int64_t>(x.numbers[i]))
                                 : x.words[i],
                 type.element);
        continue;
      }
      const double number = x.words.empty() ? x.numbers[i]
                            : x.type.element == ElementType::kS32
                                ? static_cast<double>(static_cast<int64_t>(x.words[i]))
                                : static_cast<double>(x.words[i]);
      y.numbers[i] = type.element == ElementType::kBF16
                         ? static_cast<double>(from_bf16(to_bf16(static_cast<float>(number))))
                         : number;
    }
    return y;
  }

  static Array compare(const Node& node, const Array& a, const Array& b) {
    Array y = empty(node.type);
    const auto comparison = static_cast<Comparison>(node.attributes[0][0]);
    for (size_t i = 0; i < y.words.size(); ++i) {
      if (is_float(a.type.element)) {
        y.words[i] = holds(comparison, a.numbers[i], b.numbers[i]);
      } else {
        y.words[i] =
            holds(comparison, static_cast<int64_t>(a.words[i]), static_cast<int64_t>(b.words[i]));
      }
    }
    return y;
  }

  static Array reduce(const Node& node, const Array& x) {
    Array y = empty(node.type);
    const bool is_sum = node.op == Op::kReduceSum;
    if (!is_sum) std::fill(y.numbers.begin(), y.numbers.end(), -INFINITY);
    View view = whole(node.type.shape);  // of y, by places in x
    for (const int64_t dim : node.attributes[0]) {
      view.strides.insert(view.strides.begin() + dim, 0);
    }
    for_each_place(x.type.shape, [&](const Place& place, size_t i) {
      double& to = y.numbers[view.at(place)];
      to = is_sum ? to + x.numbers[i] : std::max(to, x.numbers[i]);
    });
    return y;
  }

  static Array dot(const Node& node, const Array& x, const Array& y) {
    const auto& [cx, cy, bx, by] = node.attributes;
    // A factor by places in the result, whose dimensions are the batch and the free ones from
    // `free` on, and by places in the contracted dimensions.
    const auto views = [&](const Array& factor, const Dims& contracted, const Dims& batch,
                           size_t& free) {
      const Dims strides = whole(factor.type.shape).strides;
      View outer{.strides = Dims(node.type.shape.size())}, inner;
      for (size_t d = 0; d < strides.size(); ++d) {
        const auto at = std::find(batch.begin(), batch.end(), static_cast<int64_t>(d));
        if (at != batch.end()) {
          outer.strides[static_cast<size_t>(at - batch.begin())] = strides[d];
        } else if (std::count(contracted.begin(), contracted.end(), static_cast<int64_t>(d)) == 0) {
          outer.strides[free++] = strides[d];
        }
      }
      for (const int64_t dim : contracted)
        inner.strides.push_back(strides[static_cast<size_t>(dim)]);
      return std::pair(outer, inner);
    };
    size_t free = bx.size();
    const auto [outer_x, inner_x] = views(x, cx, bx, free);
    const auto [outer_y, inner_y] = views(y, cy, by, free);
    std::vector<std::pair<size_t, size_t>> terms;  // behind the first elements
    Dims contracted;
    for (const int64_t dim : cx) contracted.push_back(x.type.shape[static_cast<size_t>(dim)]);
    for_each_place(contracted, [&, &in_x = inner_x, &in_y = inner_y](const Place& place, size_t) {
      terms.emplace_back(in_x.at(place), in_y.at(place));
    });
    Array result = empty(node.type);
    for_each_place(node.type.shape,
                   [&, &of_x = outer_x, &of_y = outer_y](const Place& place, size_t i) {
                     const double* const from_x = x.numbers.data() + of_x.at(place);
                     const double* const from_y = y.numbers.data() + of_y.at(place);
                     for (const auto& [at_x, at_y] : terms)
                       result.numbers[i] += from_x[at_x] * from_y[at_y];
                   });
    return convert(node.type, result);
  }

  // Calls fn(number of the element in the table, number in the rows).
  template <typename Fn>
  static void for_each_row_element(const TensorType& rows, const TensorType& table,
                                   const Array& ids, const Fn& fn) {
    const View of_ids = whole(ids.type.shape);
    View of_table = whole(table.shape);
    const int64_t row = of_table.strides[0];
    of_table.strides.erase(of_table.strides.begin());
    of_table.strides.insert(of_table.strides.begin(), ids.type.shape.size(), 0);
    for_each_place(rows.shape, [&](const Place& place, size_t i) {
      const auto id = static_cast<int64_t>(ids.words[of_ids.at(place)]);
      if (id >= table.shape[0]) return;
      fn(of_table.at(place) + static_cast<size_t>(id * row), i);
    });
  }

  static Array gather(const Node& node, const Array& table, const Array& ids) {
    Array y = empty(node.type);
    for_each_row_element(node.type, table.type, ids,
                         [&](size_t from, size_t to) { copy(table, from, y, to); });
    return y;
  }

  static Array scatter(const Node& node, const Operands& x) {
    Array y = *x[0];
    for_each_row_element(x[2]->type, node.type, *x[1],
                         [&](size_t to, size_t from) { y.numbers[to] += x[2]->numbers[from]; });
    return y;
  }

  // Puts x into y, with its first element at `first`.
  static void put(const Array& x, const Place& first, Array& y) {
    View view = whole(y.type.shape);
    view.base = static_cast<int64_t>(view.at(first));
    for_each_place(x.type.shape,
                   [&](const Place& place, size_t i) { copy(x, i, y, view.at(place)); });
  }

  static Array concatenate(const Node& node, const Operands& x) {
    Array y = empty(node.type);
    Place first(node.type.shape.size());
    const auto dimension = static_cast<size_t>(node.attributes[0][0]);
    for (const Array* part : x) {
      put(*part, first, y);
      first[dimension] += part->type.shape[dimension];
    }
    return y;
  }

  static Array pad(const Node& node, const Array& x) {
    Array y = empty(node.type);
    put(x, node.attributes[0], y);
    return y;
  }

  static Array moved(const Node& node, const Array& x) {
    const Dims& dims = node.attributes[0];
    const View of_x = whole(x.type.shape);
    View view{.strides = Dims(node.type.shape.size())};  // of x, by places in the result
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto dim = static_cast<size_t>(dims[d]);
      if (node.op == Op::kBroadcast) {
        view.strides[dim] = x.type.shape[d] == 1 ? 0 : of_x.strides[d];
      } else if (node.op == Op::kTranspose) {
        view.strides[d] = of_x.strides[dim];
      } else {
        view.strides[d] = of_x.strides[d];
      }
    }
    if (node.op == Op::kSlice) view.base = static_cast<int64_t>(of_x.at(dims));
    Array y = empty(node.type);
    for_each_place(node.type.shape,
                   [&](const Place& place, size_t i) { copy(x, view.at(place), y, i); });
    return y;
  }

  static Array elementwise(const Node& node, const Operands& x) {
    Array y = empty(node.type);
    for (size_t i = 0; i < y.numbers.size(); ++i) {
      y.numbers[i] = x.size() == 1 ? apply(node.op, x[0]->numbers[i])
                                   : apply(node.op, x[0]->numbers[i], x[1]->numbers[i]);
    }
    for (size_t i = 0; i < y.words.size(); ++i) {
      y.words[i] = wrap(apply(node.op, x[0]->words[i], x[1]->words[i]), node.type.element);
    }
    return y;
  }

  Array compute(const Node& node, const Operands& x) {
    switch (node.op) {
      case Op::kConstant:
        return constant(node);
      case Op::kIota: {
        Array y = empty(node.type);
        for_each_place(node.type.shape, [&](const Place& place, size_t i) {
          y.words[i] = static_cast<uint64_t>(place[static_cast<size_t>(node.attributes[0][0])]);
        });
        return y;
      }
      case Op::kIsFinite: {
        Array y = empty(node.type);
        for (size_t i = 0; i < y.words.size(); ++i) y.words[i] = std::isfinite(x[0]->numbers[i]);
        return y;
      }
      case Op::kConvert:
        return convert(node.type, *x[0]);
      case Op::kCompare:
        return compare(node, *x[0], *x[1]);
      case Op::kSelect: {
        Array y = empty(node.type);
        for (size_t i = 0; i < x[0]->words.size(); ++i) copy(*x[x[0]->words[i] ? 1 : 2], i, y, i);
        return y;
      }
      case Op::kReshape:
        return {node.type, x[0]->numbers, x[0]->words};
      case Op::kConcatenate:
        return concatenate(node, x);
      case Op::kPad:
        return pad(node, *x[0]);
      case Op::kReduceSum:
      case Op::kReduceMax:
        return reduce(node, *x[0]);
      case Op::kDot:
        return dot(node, *x[0], *x[1]);
      case Op::kScatterRows:
        return scatter(node, x);
      case Op::kSort: {
        Array y = *x[0];
        std::sort(y.words.begin(), y.words.end());
        return y;
      }
      case Op::kBroadcast:
      case Op::kTranspose:
      case Op::kSlice:
        return moved(node, *x[0]);
      case Op::kGatherRows:
        return gather(node, *x[0], *x[1]);
      case Op::kAllReduce: {
        Array y = *x[0];
        for (double& number : y.numbers) number *= static_cast<double>(node.attributes[0][0]);
        return y;
      }
      case Op::kBarrier:
      case Op::kSoftmax:
      case Op::kNormalize:
      case Op::kStop:
        return *x[0];
      default:
        return elementwise(node, x);
    }
  }

  const Graph& graph_;
  const Inputs& inputs_;
  std::map<uint32_t, Array> values_;
};

}  // namespace

std::vector<Array> interpret(std::span<const Value> outputs, const Inputs& inputs) {
  Interpreter interpreter(outputs[0].graph(), inputs);
  std::vector<Array> results;
  for (const Value& output : outputs) results.push_back(interpreter.value(output.index()));
  return results;
}

}  // namespace berth::stablehlo
