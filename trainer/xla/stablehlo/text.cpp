#include "trainer/xla/stablehlo/text.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/xla/stablehlo/operation_text.h"

namespace berth::stablehlo {
namespace {

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
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : ", ") + value.type().text();
  return text;
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
  std::string text = "module @berth {\nfunc.func public @main(" +
                     arguments(inputs, outputs, aliases) + ") -> (" + list_of_types(outputs) +
                     ") {\n";
  size_t lines = 0;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph.node(i);
    if (node.op == Op::kParameter) {
      if (names[i].empty()) throw Error(Code::kInternal, "an input is missing", "to_text");
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
