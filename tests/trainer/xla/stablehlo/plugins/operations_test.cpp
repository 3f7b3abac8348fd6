// Compares every operation and its derivative, computed by plugins, with the interpreter.

#include <algorithm>
#include <cmath>

#include "tests/trainer/xla/pjrt/plugins/real_plugin.h"
#include "tests/trainer/xla/plugin_arrays.h"
#include "tests/trainer/xla/stablehlo/cases.h"
#include "trainer/xla/stablehlo/text.h"

namespace berth::stablehlo {
namespace {

class OperationsOnPlugins : public WithRealPlugin {};
INSTANTIATE_TEST_SUITE_P(Plugins, OperationsOnPlugins, kGoodPlugins, version_name);

TEST_P(OperationsOnPlugins, AndDerivativesMatchTheInterpreter) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Program program(each);
    std::vector<Value> inputs, outputs = program.derivatives;
    outputs.push_back(program.loss);
    std::vector<PjrtBuffer> buffers;
    for (const auto& [index, array] : program.inputs) {
      inputs.emplace_back(program.loss.graph(), index);
      buffers.push_back(to_device(array, *client));
    }
    std::vector<PjrtArguments> arguments(1);
    for (const PjrtBuffer& buffer : buffers) arguments[0].push_back(&buffer);
    const PjrtExecutable executable = PjrtExecutable::compile(*client, to_text(inputs, outputs));
    const PjrtResults results = executable.execute(arguments);
    const std::vector<Array> expected = interpret(outputs, program.inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      const Array found = from_device(results.outputs[0][i]);
      ASSERT_EQ(found.numbers.size(), expected[i].numbers.size());
      for (size_t j = 0; j < found.numbers.size(); ++j) {
        const double number = expected[i].numbers[j];
        EXPECT_NEAR(found.numbers[j], number, 1e-6 * (1 + std::abs(number))) << i << ", " << j;
      }
    }
  }
}

}  // namespace
}  // namespace berth::stablehlo
