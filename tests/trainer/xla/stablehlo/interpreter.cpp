#include "tests/trainer/xla/stablehlo/interpreter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "storage/base/half.h"
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

size_t offset(const Dims& shape, const Place& place) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + place[d];
  return static_cast<size_t>(at);
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
  // y's element at `place` is x's at from(place).
  static Array move(const TensorType& type, const Array& x,
                    const std::function<Place(const Place&)>& from) {
    Array y = empty(type);
    for_each_place(type.shape, [&](const Place& place, size_t i) {
      copy(x, offset(x.type.shape, from(place)), y, i);
    });
    return y;
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
    for_each_place(x.type.shape, [&](const Place& place, size_t i) {
      Place kept;
      for (size_t d = 0; d < place.size(); ++d) {
        const Dims& dims = node.attributes[0];
        if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) == dims.end()) {
          kept.push_back(place[d]);
        }
      }
      double& to = y.numbers[offset(node.type.shape, kept)];
      to = is_sum ? to + x.numbers[i] : std::max(to, x.numbers[i]);
    });
    return y;
  }

  static Array dot(const Node& node, const Array& x, const Array& y) {
    const auto& [cx, cy, bx, by] = node.attributes;
    Dims contracted;
    for (const int64_t dim : cx) contracted.push_back(x.type.shape[static_cast<size_t>(dim)]);
    Array result = empty(node.type);
    for_each_place(node.type.shape, [&](const Place& place, size_t i) {
      Place at_x(x.type.shape.size(), -1), at_y(y.type.shape.size(), -1);
      for (size_t d = 0; d < bx.size(); ++d) {
        at_x[static_cast<size_t>(bx[d])] = at_y[static_cast<size_t>(by[d])] = place[d];
      }
      double sum = 0;
      for_each_place(contracted, [&](const Place& inner, size_t) {
        Place px = at_x, py = at_y;
        for (size_t d = 0; d < cx.size(); ++d) {
          px[static_cast<size_t>(cx[d])] = py[static_cast<size_t>(cy[d])] = inner[d];
        }
        size_t free = bx.size();
        for (Place* p : {&px, &py}) {
          for (int64_t& d : *p) {
            if (d < 0) d = place[free++];
          }
        }
        sum += x.numbers[offset(x.type.shape, px)] * y.numbers[offset(y.type.shape, py)];
      });
      result.numbers[i] = sum;
    });
    return result;
  }

  // The place in a table of the element at `place` of gathered rows.
  static Place in_table(const Place& place, const Array& ids) {
    const auto rank = static_cast<std::ptrdiff_t>(ids.type.shape.size());
    Place at(place.begin() + rank, place.end());
    const Place of_id(place.begin(), place.begin() + rank);
    at.insert(at.begin(), static_cast<int64_t>(ids.words[offset(ids.type.shape, of_id)]));
    return at;
  }

  static Array concatenate(const Node& node, const Operands& x) {
    Array y = empty(node.type);
    const auto dimension = static_cast<size_t>(node.attributes[0][0]);
    int64_t first = 0;
    for (const Array* part : x) {
      for_each_place(part->type.shape, [&](Place place, size_t i) {
        place[dimension] += first;
        copy(*part, i, y, offset(node.type.shape, place));
      });
      first += part->type.shape[dimension];
    }
    return y;
  }

  static Array pad(const Node& node, const Array& x) {
    Array y = empty(node.type);
    for_each_place(x.type.shape, [&](Place place, size_t i) {
      for (size_t d = 0; d < place.size(); ++d) place[d] += node.attributes[0][d];
      copy(x, i, y, offset(node.type.shape, place));
    });
    return y;
  }

  static Array scatter(const Node& node, const Operands& x) {
    Array y = *x[0];
    for_each_place(x[2]->type.shape, [&](const Place& place, size_t i) {
      y.numbers[offset(node.type.shape, in_table(place, *x[1]))] += x[2]->numbers[i];
    });
    return y;
  }

  static Array moved(const Node& node, const Operands& x) {
    const Dims& dims = node.attributes[0];
    const Dims& shape = x[0]->type.shape;
    return move(node.type, *x[0], [&](const Place& place) {
      if (node.op == Op::kGatherRows) return in_table(place, *x[1]);
      Place from(shape.size());
      for (size_t d = 0; d < from.size(); ++d) {
        if (node.op == Op::kBroadcast) {
          from[d] = shape[d] == 1 ? 0 : place[static_cast<size_t>(dims[d])];
        } else if (node.op == Op::kTranspose) {
          from[static_cast<size_t>(dims[d])] = place[d];
        } else {
          from[d] = place[d] + dims[d];  // slice
        }
      }
      return from;
    });
  }

  static Array elementwise(const Node& node, const Operands& x) {
    Array y = empty(node.type);
    for (size_t i = 0; i < y.numbers.size(); ++i) {
      y.numbers[i] = x.size() == 1 ? apply(node.op, x[0]->numbers[i])
                                   : apply(node.op, x[0]->numbers[i], x[1]->numbers[i]);
    }
    for (size_t i = 0; i < y.words.size(); ++i) {
      const uint64_t word =
          x.size() == 1 ? ~x[0]->words[i] : apply(node.op, x[0]->words[i], x[1]->words[i]);
      y.words[i] = wrap(word, node.type.element);
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
      case Op::kBroadcast:
      case Op::kTranspose:
      case Op::kSlice:
      case Op::kGatherRows:
        return moved(node, x);
      case Op::kAllReduce: {
        Array y = *x[0];
        for (double& number : y.numbers) number *= static_cast<double>(node.attributes[0][0]);
        return y;
      }
      case Op::kBarrier:
      case Op::kStop:
        return *x[0];
      case Op::kBarrierResult:
        return value(
            graph_.node(node.operands[0]).operands[static_cast<size_t>(node.attributes[0][0])]);
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
