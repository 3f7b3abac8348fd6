#include "trainer/xla/stablehlo/text.h"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/xla/stablehlo/graph.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

std::string list(const Dims& dims) { return "[" + berth::joined(dims, ", ") + "]"; }

// A decimal that reads back as the same number. StableHLO wants a point in it, and hexadecimal bits
// where it is not finite.
std::string number(int64_t bits, ElementType element) {
  if (element == ElementType::kPred) return bits != 0 ? "true" : "false";
  if (!is_float(element)) return std::to_string(bits);
  const bool is_bf16 = element == ElementType::kBF16;
  const float value = is_bf16 ? from_bf16(static_cast<uint16_t>(bits))
                              : std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (std::isfinite(value)) return formatted("%.8e", static_cast<double>(value));
  return formatted(is_bf16 ? "0x%04X" : "0x%08X", static_cast<unsigned>(bits));
}

// One number alone stands for all elements of a constant.
std::string numbers(const Dims& bits, ElementType element) {
  if (bits.size() == 1) return number(bits[0], element);
  std::string text = "[";
  for (const int64_t each : bits) text += (text.size() == 1 ? "" : ", ") + number(each, element);
  return text + "]";
}

std::string slice_text(const Dims& first, const Dims& end) {
  std::string text = " [";
  for (size_t i = 0; i < first.size(); ++i) {
    text += cat(i == 0 ? "" : ", ", first[i], ":", end[i]);
  }
  return text + "]";
}

// bf16 factors are multiplied as they are; fp32 factors must not be rounded to less.
std::string dot_text(const Node& node, const TensorType& factor) {
  const auto& [cx, cy, bx, by] = node.attributes;
  const char* precision = factor.element == ElementType::kBF16 ? "DEFAULT" : "HIGHEST";
  std::string text = ", ";
  if (!bx.empty()) text += cat("batching_dims = ", list(bx), " x ", list(by), ", ");
  return cat(text, "contracting_dims = ", list(cx), " x ", list(cy), ", precision = [", precision,
             ", ", precision, "]");
}

// The dimensions of ids come first, and behind them the dimensions of a row.
std::string gather_text(const TensorType& table, int64_t ids_rank) {
  Dims row = table.shape;
  row[0] = 1;
  const std::string sizes = list(row);
  return cat(" <{dimension_numbers = #stablehlo.gather<offset_dims = ",
             list(range(static_cast<size_t>(ids_rank), row.size() - 1)),
             ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = ", ids_rank,
             ">, slice_sizes = array<i64: ", sizes.substr(1, sizes.size() - 2), ">}>");
}

std::string scatter_text(const TensorType& table, int64_t ids_rank) {
  return cat(" <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = ",
             list(range(static_cast<size_t>(ids_rank), table.shape.size() - 1)),
             ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
             "index_vector_dim = ",
             ids_rank, ">, unique_indices = true}> ");
}

// In ascending order.
std::string sort_text(ElementType element) {
  const std::string scalar = TensorType{element, {}}.text();
  return cat(" <{dimension = 0 : i64, is_stable = false}> ({\n^bb0(%a: ", scalar, ", %b: ", scalar,
             "):\n%less = stablehlo.compare LT, %a, %b : (", scalar, ", ", scalar,
             ") -> tensor<i1>\nstablehlo.return %less : tensor<i1>\n})");
}

std::string all_reduce_text(int64_t replicas) {
  return cat(" <{replica_groups = dense<[", list(range(0, static_cast<size_t>(replicas))),
             "]> : tensor<1x", replicas, "xi64>}> ");
}

// The body of a reduction by addition.
std::string addition(ElementType element) {
  const std::string scalar = TensorType{element, {}}.text();
  return cat("({\n^bb0(%a: ", scalar, ", %b: ", scalar,
             "):\n%sum = stablehlo.add %a, %b : ", scalar, "\nstablehlo.return %sum : ", scalar,
             "\n})");
}

// The right side of a line of StableHLO: "stablehlo.add %0, %1 : tensor<2xf32>". `names` holds the
// names of all nodes before this one.
std::string operation_text(const Graph& graph, const Node& node,
                           const std::vector<std::string>& names) {
  const auto type_of = [&](size_t i) -> const TensorType& {
    return graph.node(node.operands[i]).type;
  };
  std::string operands, types;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    operands += (i == 0 ? "" : ", ") + names[node.operands[i]];
    types += (i == 0 ? "" : ", ") + type_of(i).text();
  }
  // Most operations are printed as "name %a, %b : types". The others have the general form
  // "name"(%a, %b) <{...}> : types.
  const std::string name = std::string("stablehlo.") + name_of(node.op);
  const std::string type = node.type.text(), signature = cat(" : (", types, ") -> ", type);
  const std::string plain = name + " " + operands, quoted = cat("\"", name, "\"(", operands, ")");
  const Dims& dims = node.attributes[0];
  switch (node.op) {
    case Op::kConstant:
      return cat(name, " dense<", numbers(dims, node.type.element), "> : ", type);
    case Op::kIota:
      return cat(name, " dim = ", dims[0], " : ", type);
    case Op::kErf:  // StableHLO has none, but every plugin reads CHLO as well
      return cat("chlo.erf ", operands, " : ", types, " -> ", type);
    case Op::kCompare: {
      constexpr const char* kNames[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
      return cat(name, " ", kNames[dims[0]], ", ", operands, signature);
    }
    case Op::kSelect:
      return cat(plain, " : ", type_of(0).text(), ", ", type);
    case Op::kIsFinite:
    // Where the result has another type than the operands, the signature names both.
    case Op::kConvert:
    case Op::kReshape:
      return plain + signature;
    case Op::kBroadcast:
    case Op::kTranspose:
      return cat(plain, ", dims = ", list(dims), signature);
    case Op::kSlice:
      return plain + slice_text(dims, node.attributes[1]) + signature;
    case Op::kConcatenate:
      return cat(plain, ", dim = ", dims[0], signature);
    case Op::kPad:
      return cat(plain, ", low = ", list(dims), ", high = ", list(node.attributes[1]),
                 ", interior = ", list(Dims(dims.size())), signature);
    // Reductions, and what has a body or a list of dimension numbers.
    case Op::kReduceSum:
    case Op::kReduceMax:
      return cat(name, "(", names[node.operands[0]], " init: ", names[node.operands[1]],
                 ") applies stablehlo.", node.op == Op::kReduceSum ? "add" : "maximum",
                 " across dimensions = ", list(dims), signature);
    case Op::kDot:
      return plain + dot_text(node, type_of(0)) + signature;
    case Op::kGatherRows:
      return quoted + gather_text(type_of(0), type_of(1).rank()) + signature;
    case Op::kScatterRows:
      return quoted + scatter_text(node.type, type_of(1).rank()) + addition(node.type.element) +
             signature;
    case Op::kSort:
      return quoted + sort_text(node.type.element) + signature;
    case Op::kAllReduce:
      return quoted + all_reduce_text(dims[0]) + addition(node.type.element) + signature;
    case Op::kBarrier:
      return cat(plain, " : ", types);
    default:  // element by element
      return cat(plain, " : ", type);
  }
}

// Which nodes the outputs depend on.
std::vector<bool> live_nodes(const Graph& graph, std::span<const Value> outputs) {
  std::vector<bool> live(graph.size());
  for (const Value& output : outputs) live[output.index()] = true;
  for (uint32_t i = graph.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const uint32_t operand : graph.node(i).operands) live[operand] = true;
  }
  return live;
}

std::string list_of_types(std::span<const Value> values) {
  return berth::joined(values, ", ", [&](const Value& value) { return value.type().text(); });
}

std::string arguments(std::span<const Value> inputs, std::span<const Value> outputs,
                      std::span<const Alias> aliases) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += cat(i == 0 ? "%arg" : ", %arg", i, ": ", inputs[i].type().text());
    for (const auto& [input, output] : aliases) {
      if (input != i) continue;
      if (inputs[i].type() != outputs[output].type()) {
        fail("to_text", "the types of an alias differ", {inputs[i], outputs[output]});
      }
      text += cat(" {tf.aliasing_output = ", output, " : i32}");
    }
  }
  return text;
}

}  // namespace

std::string to_text(std::span<const Value> inputs, std::span<const Value> outputs,
                    std::span<const Alias> aliases) {
  if (outputs.empty()) throw Error(Code::kInternal, "a program without outputs", "to_text");
  const Graph& graph = outputs[0].graph();
  const std::vector<bool> live = live_nodes(graph, outputs);
  std::vector<std::string> names(graph.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].node().op != Op::kParameter) fail("to_text", "no parameter", {inputs[i]});
    names[inputs[i].index()] = "%arg" + std::to_string(i);
  }
  // The function with its arguments, then a line for each live node that computes something.
  std::string text = "module @berth {\nfunc.func public @main(" +
                     arguments(inputs, outputs, aliases) + ") -> (" + list_of_types(outputs) +
                     ") {\n";
  size_t lines = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph.node(i);
    if (node.op == Op::kParameter) {
      if (names[i].empty()) throw Error(Code::kInternal, "an input is missing", "to_text");
      // Marks for reverse mode compute nothing: they are their first operand.
    } else if (node.op >= Op::kSoftmax) {
      names[i] = names[node.operands[0]];
    } else {
      names[i] = "%" + std::to_string(lines++);
      // A barrier has a result for each operand. Its value is the first.
      const bool is_barrier = node.op == Op::kBarrier;
      text +=
          cat(names[i], is_barrier ? ":2" : "", " = ", operation_text(graph, node, names), "\n");
      if (is_barrier) names[i] += "#0";
    }
  }
  text += "return ";
  for (const Value& output : outputs) {
    text += (&output == outputs.data() ? "" : ", ") + names[output.index()];
  }
  return text + " : " + list_of_types(outputs) + "\n}\n}\n";
}

}  // namespace berth::stablehlo
