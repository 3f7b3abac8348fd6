#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trainer/xla/network/programs.h"

// What a program computes and sends, counted in its graph, and what a training needs in theory.
namespace berth {

struct ProgramCosts {
  double products = 0;        // FLOPs of matrix products: an addition and a multiplication count 2
  double elementwise = 0;     // of f32 and bf16, one an element; sums and maxima, one an operand's
  double integers = 0;        // of words and truth values, one an element: most of it is dropout
  int64_t reduced_bytes = 0;  // what each replica gives to all_reduce
};

// Of all nodes that the outputs depend on.
inline ProgramCosts costs_of(const Program& program) {
  using stablehlo::Op;
  const stablehlo::Graph& graph = *program.graph;
  std::vector<bool> live(graph.size());
  for (const Program::Tensor& output : program.outputs) live[output.value.index()] = true;
  ProgramCosts costs;
  for (uint32_t i = graph.size(); i-- > 0;) {
    if (!live[i]) continue;
    const stablehlo::Node& node = graph.node(i);
    for (const uint32_t operand : node.operands) live[operand] = true;
    const auto elements = static_cast<double>(node.type.elements());
    const auto type_of = [&](size_t k) { return graph.node(node.operands[k]).type; };
    if (node.op == Op::kDot) {
      double contracted = 1;
      for (const int64_t dimension : node.attributes[0]) {
        contracted *= static_cast<double>(type_of(0).shape[static_cast<size_t>(dimension)]);
      }
      costs.products += 2 * elements * contracted;
    } else if (node.op == Op::kAllReduce) {
      costs.reduced_bytes += 4 * type_of(0).elements();
    } else if (node.op == Op::kReduceSum || node.op == Op::kReduceMax) {
      costs.elementwise += static_cast<double>(type_of(0).elements());
    } else if (node.op == Op::kScatterRows) {
      costs.elementwise += static_cast<double>(type_of(2).elements());
    } else if (node.op >= Op::kNegate && node.op <= Op::kConvert) {
      const bool is_number = is_float(node.type.element) || is_float(type_of(0).element);
      (is_number ? costs.elementwise : costs.integers) += elements;
    }
  }
  return costs;
}

// FLOPs of the forward pass of BERT's layers at the padded shape. Behind attention, the last layer
// computes only the tokens that the head reads.
inline double layers_forward(const ModelConfig& config, const BatchShape& shape, int64_t picked) {
  const auto h = static_cast<double>(config.hidden_size),
             f = static_cast<double>(config.intermediate_size),
             s = static_cast<double>(shape.row_length), t = static_cast<double>(shape.tokens()),
             p = static_cast<double>(picked);
  const double queries_keys_values = 2 * t * h * 3 * h;
  const double scores_and_sums = 2 * (2 * t * s * h);
  const double behind_attention = 2 * (h * h + 2 * h * f);  // of a token
  const auto layers = static_cast<double>(config.num_hidden_layers);
  return layers * (queries_keys_values + scores_and_sums) +
         ((layers - 1) * t + p) * behind_attention;
}

// FLOPs of one update: backward has two products for each of forward's. Recomputation repeats the
// forward pass of the layers.
inline double training_flops(const ProgramOptions& options, const BatchShape& shape) {
  const ModelConfig& config = options.config;
  const auto h = static_cast<double>(config.hidden_size);
  const bool is_masked = traits(config.task).rows == HeadRows::kMasked;
  const int64_t picked = is_masked ? shape.masked : shape.sequences;
  const auto outputs = static_cast<double>(is_masked ? config.vocab_size : config.num_outputs());
  const double head = 2 * static_cast<double>(picked) * (h * h + h * outputs);
  const double layers = layers_forward(config, shape, picked);
  return 3 * (layers + head) + (options.recomputes ? layers : 0);
}

}  // namespace berth
