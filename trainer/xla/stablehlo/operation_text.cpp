#include "trainer/xla/stablehlo/operation_text.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "storage/base/half.h"
#include "storage/base/text.h"
#include "trainer/xla/stablehlo/dimensions.h"

namespace berth::stablehlo {
namespace {

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

}  // namespace

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
  const std::string name = std::string("stablehlo.") + name_of(node.op);
  const std::string type = node.type.text(), signature = cat(" : (", types, ") -> ", type);
  const std::string plain = name + " " + operands, quoted = cat("\"", name, "\"(", operands, ")");
  const Dims& dims = node.attributes[0];
  switch (node.op) {
    case Op::kConstant:  // arrays hold integers
      return cat(name, " dense<",
                 dims.size() == 1 ? number(dims[0], node.type.element) : list(dims), "> : ", type);
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

}  // namespace berth::stablehlo
