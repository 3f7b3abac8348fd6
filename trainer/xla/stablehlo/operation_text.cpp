#include "trainer/xla/stablehlo/operation_text.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "storage/base/half.h"

namespace berth::stablehlo {
namespace {

// The operations whose lines are "stablehlo.NAME operands : type".
struct PlainOperation {
  Op op;
  const char* name;
};
constexpr PlainOperation kPlain[] = {{Op::kNegate, "negate"},
                                     {Op::kExp, "exponential"},
                                     {Op::kLog, "log"},
                                     {Op::kExpm1, "exponential_minus_one"},
                                     {Op::kTanh, "tanh"},
                                     {Op::kLog1p, "log_plus_one"},
                                     {Op::kSqrt, "sqrt"},
                                     {Op::kRsqrt, "rsqrt"},
                                     {Op::kNot, "not"},
                                     {Op::kLogistic, "logistic"},
                                     {Op::kAdd, "add"},
                                     {Op::kSubtract, "subtract"},
                                     {Op::kDivide, "divide"},
                                     {Op::kMultiply, "multiply"},
                                     {Op::kMaximum, "maximum"},
                                     {Op::kMinimum, "minimum"},
                                     {Op::kAnd, "and"},
                                     {Op::kOr, "or"},
                                     {Op::kXor, "xor"},
                                     {Op::kShiftRight, "shift_right_logical"},
                                     {Op::kShiftLeft, "shift_left"}};

std::string list(const Dims& dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() == 1 ? "" : ", ") + std::to_string(dim);
  return text + "]";
}

// A decimal that reads back as the same number. StableHLO wants a point in it, and hexadecimal bits
// where it is not finite.
std::string number(int64_t bits, ElementType element) {
  if (element == ElementType::kPred) return bits != 0 ? "true" : "false";
  if (!is_float(element)) return std::to_string(bits);
  const bool is_bf16 = element == ElementType::kBF16;
  const float value = is_bf16 ? from_bf16(static_cast<uint16_t>(bits))
                              : std::bit_cast<float>(static_cast<uint32_t>(bits));
  char text[32];
  if (std::isfinite(value)) {
    std::snprintf(text, sizeof(text), "%.8e", static_cast<double>(value));
  } else {
    std::snprintf(text, sizeof(text), is_bf16 ? "0x%04X" : "0x%08X", static_cast<unsigned>(bits));
  }
  return text;
}

// One node with the names and types of its operands.
struct Line {
  const Graph& graph;
  const Node& node;
  const std::vector<std::string>& names;

  const std::string& x(size_t i = 0) const { return names[node.operands[i]]; }
  std::string type(size_t i = 0) const { return graph.node(node.operands[i]).type.text(); }
  std::string operands() const {
    std::string text;
    for (const uint32_t operand : node.operands)
      text += (text.empty() ? "" : ", ") + names[operand];
    return text;
  }
  std::string types() const {
    std::string text;
    for (size_t i = 0; i < node.operands.size(); ++i) text += (i == 0 ? "" : ", ") + type(i);
    return text;
  }
  std::string signature() const { return " : (" + types() + ") -> " + node.type.text(); }
  // The body of a reduction by addition.
  std::string addition() const {
    const std::string scalar = TensorType{node.type.element, {}}.text();
    return "({\n^bb0(%a: " + scalar + ", %b: " + scalar +
           "):\n%sum = stablehlo.add %a, %b : " + scalar + "\nstablehlo.return %sum : " + scalar +
           "\n})";
  }
};

std::string constant_text(const Node& node) {
  const Dims& bits = node.attributes[0];
  std::string text = "stablehlo.constant dense<";
  if (bits.size() == 1) {
    text += number(bits[0], node.type.element);
  } else {
    text += list(bits);  // arrays hold integers
  }
  return text + "> : " + node.type.text();
}

std::string compare_text(const Line& line) {
  static constexpr const char* kNames[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  return std::string("stablehlo.compare ") + kNames[line.node.attributes[0][0]] + ", " +
         line.operands() + line.signature();
}

std::string slice_text(const Line& line) {
  std::string text = "stablehlo.slice " + line.x() + " [";
  const auto& [first, end, unused0, unused1] = line.node.attributes;
  for (size_t i = 0; i < first.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(first[i]) + ":" + std::to_string(end[i]);
  }
  return text + "]" + line.signature();
}

std::string reduce_text(const Line& line) {
  const char* const applied = line.node.op == Op::kReduceSum ? "add" : "maximum";
  return "stablehlo.reduce(" + line.x(0) + " init: " + line.x(1) + ") applies stablehlo." +
         applied + " across dimensions = " + list(line.node.attributes[0]) + line.signature();
}

// bf16 factors are multiplied as they are; fp32 factors must not be rounded to less.
std::string dot_text(const Line& line) {
  const auto& [cx, cy, bx, by] = line.node.attributes;
  const bool is_bf16 = line.graph.node(line.node.operands[0]).type.element == ElementType::kBF16;
  const std::string precision = is_bf16 ? "DEFAULT" : "HIGHEST";
  std::string text = "stablehlo.dot_general " + line.operands() + ", ";
  if (!bx.empty()) text += "batching_dims = " + list(bx) + " x " + list(by) + ", ";
  text += "contracting_dims = " + list(cx) + " x " + list(cy);
  return text + ", precision = [" + precision + ", " + precision + "]" + line.signature();
}

// The dimensions of ids come first, and behind them the dimensions of a row.
std::string gather_text(const Line& line) {
  const TensorType& table = line.graph.node(line.node.operands[0]).type;
  const int64_t ids_rank = line.graph.node(line.node.operands[1]).type.rank();
  Dims offsets;
  std::string sizes = "1";
  for (int64_t i = 1; i < table.rank(); ++i) {
    offsets.push_back(ids_rank + i - 1);
    sizes += ", " + std::to_string(table.shape[static_cast<size_t>(i)]);
  }
  return "\"stablehlo.gather\"(" + line.operands() +
         ") <{dimension_numbers = #stablehlo.gather<offset_dims = " + list(offsets) +
         ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = " +
         std::to_string(ids_rank) + ">, slice_sizes = array<i64: " + sizes + ">}>" +
         line.signature();
}

std::string scatter_text(const Line& line) {
  const int64_t ids_rank = line.graph.node(line.node.operands[1]).type.rank();
  Dims windows;
  for (int64_t i = 1; i < line.node.type.rank(); ++i) windows.push_back(ids_rank + i - 1);
  return "\"stablehlo.scatter\"(" + line.operands() +
         ") <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = " +
         list(windows) +
         ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = " +
         std::to_string(ids_rank) + ">}> " + line.addition() + line.signature();
}

std::string all_reduce_text(const Line& line) {
  const int64_t replicas = line.node.attributes[0][0];
  Dims group;
  for (int64_t i = 0; i < replicas; ++i) group.push_back(i);
  return "\"stablehlo.all_reduce\"(" + line.x() + ") <{replica_groups = dense<[" + list(group) +
         "]> : tensor<1x" + std::to_string(replicas) + "xi64>}> " + line.addition() +
         line.signature();
}

}  // namespace

std::string operation_text(const Graph& graph, const Node& node,
                           const std::vector<std::string>& names) {
  const Line line{graph, node, names};
  for (const auto& [op, name] : kPlain) {
    if (op != node.op) continue;
    return std::string("stablehlo.") + name + " " + line.operands() + " : " + node.type.text();
  }
  const Dims& dims = node.attributes[0];
  switch (node.op) {
    case Op::kConstant:
      return constant_text(node);
    case Op::kIota:
      return "stablehlo.iota dim = " + std::to_string(dims[0]) + " : " + node.type.text();
    case Op::kErf:  // StableHLO has none, but every plugin reads CHLO as well
      return "chlo.erf " + line.x() + " : " + line.type() + " -> " + node.type.text();
    case Op::kIsFinite:
      return "stablehlo.is_finite " + line.x() + line.signature();
    case Op::kConvert:
      return "stablehlo.convert " + line.x() + line.signature();
    case Op::kCompare:
      return compare_text(line);
    case Op::kSelect:
      return "stablehlo.select " + line.operands() + " : " + line.type(0) + ", " + node.type.text();
    case Op::kBroadcast:
      return "stablehlo.broadcast_in_dim " + line.x() + ", dims = " + list(dims) + line.signature();
    case Op::kReshape:
      return "stablehlo.reshape " + line.x() + line.signature();
    case Op::kTranspose:
      return "stablehlo.transpose " + line.x() + ", dims = " + list(dims) + line.signature();
    case Op::kSlice:
      return slice_text(line);
    case Op::kConcatenate:
      return "stablehlo.concatenate " + line.operands() + ", dim = " + std::to_string(dims[0]) +
             line.signature();
    case Op::kPad:
      return "stablehlo.pad " + line.operands() + ", low = " + list(dims) +
             ", high = " + list(node.attributes[1]) + ", interior = " + list(Dims(dims.size())) +
             line.signature();
    case Op::kReduceSum:
    case Op::kReduceMax:
      return reduce_text(line);
    case Op::kDot:
      return dot_text(line);
    case Op::kGatherRows:
      return gather_text(line);
    case Op::kScatterRows:
      return scatter_text(line);
    case Op::kAllReduce:
      return all_reduce_text(line);
    case Op::kBarrier:
      return "stablehlo.optimization_barrier " + line.operands() + " : " + line.types();
    default:
      fail("to_text", "a node without text", {});
  }
}

}  // namespace berth::stablehlo
