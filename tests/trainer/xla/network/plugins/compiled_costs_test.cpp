// What plugins say of the memory and the FLOPs of compiled programs.

#include <cstdio>
#include <optional>

#include "tests/trainer/xla/network/bert_sizes.h"
#include "tests/trainer/xla/network/program_costs.h"
#include "tests/trainer/xla/pjrt/plugins/real_plugin.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

constexpr BatchShape kRows = {.rows = 4, .row_length = 64, .sequences = 8, .masked = 40};

class CompiledCosts : public WithRealPlugin {};
INSTANTIATE_TEST_SUITE_P(Plugins, CompiledCosts, kDrawnPlugin, version_name);

// The bytes of the inputs of this kind, such as "value:".
int64_t bytes_of(const Program& program, const std::string& kind, const ProgramOptions& options) {
  int64_t bytes = 0;
  for (const ParameterSpec& spec : parameter_table(options.config, options.lora)) {
    if (!spec.trains) continue;
    for (const Program::Tensor& input : program.inputs) {
      if (input.name == kind + spec.name) bytes += 4 * spec.elements();
    }
  }
  return bytes;
}

// Compares the compiler's own count with the graph's, where the plugin has one.
void expect_flops_of_graph(const PjrtExecutable& executable, const Program& program,
                           const std::string& plugin) {
  const std::optional<double> flops = executable.flops();
  if (!flops) {
    std::printf("NOT TESTED: plugin %s does not count FLOPs\n", plugin.c_str());
    return;
  }
  const ProgramCosts costs = costs_of(program);
  std::printf(
      "plugin %s counts %.3e FLOPs; the graph has %.3e in products, %.3e elementwise, %.3e of "
      "integers\n",
      plugin.c_str(), *flops, costs.products, costs.elementwise, costs.integers);
  EXPECT_LE(*flops, 1.05 * (costs.products + costs.elementwise + costs.integers));
}

TEST_P(CompiledCosts, TrainingUpdatesAllStateInPlace) {
  for (const int64_t rank : {0, 8}) {
    SCOPED_TRACE(rank);
    const ProgramOptions options{.config = bert_tiny(Task::kSequenceClassification),
                                 .lora = {.rank = rank}};
    const Program training = training_program(options, kRows);
    const PjrtExecutable executable = PjrtExecutable::compile(*client, training.text());
    expect_flops_of_graph(executable, training, GetParam());
    const auto memory = executable.memory();
    ASSERT_TRUE(memory.has_value());
    const int64_t values = bytes_of(training, "value:", options);
    EXPECT_EQ(bytes_of(training, "first_moment:", options), values);
    EXPECT_EQ(bytes_of(training, "second_moment:", options), values);
    EXPECT_EQ(memory->aliased, 3 * values);
    // Besides the state, an update returns three numbers.
    EXPECT_NEAR(static_cast<double>(memory->outputs), static_cast<double>(memory->aliased), 8192);
  }
}

TEST_P(CompiledCosts, SumsOfGradientsAreUpdatedInPlace) {
  const ProgramOptions options{.config = bert_tiny(Task::kSequenceClassification)};
  const Program accumulation = accumulation_program(options, kRows);
  const int64_t gradients = bytes_of(accumulation, "gradient:", options);
  const auto accumulating = PjrtExecutable::compile(*client, accumulation.text()).memory();
  ASSERT_TRUE(accumulating.has_value());
  EXPECT_EQ(accumulating->aliased, gradients + 8);
  const auto applying =
      PjrtExecutable::compile(*client, application_program(options).text()).memory();
  ASSERT_TRUE(applying.has_value());
  EXPECT_EQ(applying->aliased, 4 * gradients + 8);
}

}  // namespace
}  // namespace berth
