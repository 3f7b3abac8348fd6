// Counts the FLOPs of programs and the bytes that replicas exchange.

#include "tests/trainer/xla/network/program_costs.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/trainer/xla/network/bert_sizes.h"
#include "trainer/model/parameter_table.h"

namespace berth {
namespace {

constexpr BatchShape kRows = {.rows = 32, .row_length = 128, .sequences = 64, .masked = 640};

void expect_flops_of_theory(const ProgramOptions& options, const std::string& name) {
  SCOPED_TRACE(name);
  const ProgramCosts costs = costs_of(training_program(options, kRows));
  const double theory = training_flops(options, kRows);
  std::printf(
      "%-36s products %.3e FLOPs, %.4f of theory; besides them %.1f %% elementwise and %.1f %% "
      "integers\n",
      name.c_str(), costs.products, costs.products / theory,
      100 * costs.elementwise / costs.products, 100 * costs.integers / costs.products);
  EXPECT_LE(costs.products + costs.elementwise, 1.05 * theory);
  EXPECT_GE(costs.products, 0.99 * theory);
}

TEST(ProgramCosts, ProductsAreThoseOfTheory) {
  for (const bool recomputes : {false, true}) {
    for (const Task task : {Task::kSequenceClassification, Task::kMaskedLm}) {
      const std::string rest = std::string(task == Task::kMaskedLm ? ", masked" : ", sequences") +
                               (recomputes ? ", recomputed" : "");
      expect_flops_of_theory({.config = bert_tiny(task), .recomputes = recomputes},
                             "BERT-tiny" + rest);
      expect_flops_of_theory({.config = bert_base(task), .recomputes = recomputes},
                             "BERT-base" + rest);
    }
  }
}

int64_t trained_elements(const ProgramOptions& options) {
  int64_t elements = 0;
  for (const ParameterSpec& spec :
       parameter_table(options.config, options.lora, options.optimizer.first_depth)) {
    if (spec.trains) elements += spec.elements();
  }
  return elements;
}

// Four bytes for each gradient, and for the sums of losses and weights.
void expect_reduced_bytes_of_theory(ProgramOptions options) {
  options.replicas = 2;
  const int64_t theory = 4 * (trained_elements(options) + 2);
  EXPECT_EQ(costs_of(training_program(options, kRows)).reduced_bytes, theory);
  EXPECT_EQ(costs_of(accumulation_program(options, kRows)).reduced_bytes, 0);
  EXPECT_EQ(costs_of(application_program(options)).reduced_bytes, theory);
  EXPECT_EQ(costs_of(inference_program(options, kRows)).reduced_bytes, 0);
  options.replicas = 1;
  EXPECT_EQ(costs_of(training_program(options, kRows)).reduced_bytes, 0);
}

TEST(ProgramCosts, ReplicasExchangeTheirGradientsOnce) {
  ProgramOptions options{.config = bert_tiny(Task::kSequenceClassification)};
  expect_reduced_bytes_of_theory(options);
  options.optimizer.first_depth = 1;  // embeddings are frozen
  expect_reduced_bytes_of_theory(options);
  options.optimizer.type = OptimizerType::kLamb;
  options.recomputes = true;
  expect_reduced_bytes_of_theory(options);
}

TEST(ProgramCosts, ReplicasExchangeOnlyAdaptersAndHeadWithLora) {
  ProgramOptions options{.config = bert_tiny(Task::kSequenceClassification), .lora = {.rank = 8}};
  // Both adapters of query and value [8,128] + [128,8] in two layers, pooler and classifier.
  EXPECT_EQ(trained_elements(options), 2 * 2 * 2 * 8 * 128 + 128 * 129 + 2 * 129);
  expect_reduced_bytes_of_theory(options);
}

}  // namespace
}  // namespace berth
