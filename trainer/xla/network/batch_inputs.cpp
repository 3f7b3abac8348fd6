#include "trainer/xla/network/batch_inputs.h"

namespace berth {

using stablehlo::Dims;
using stablehlo::ElementType;
using stablehlo::Graph;

BatchInputs batch_inputs(Graph& graph, const ModelConfig& config, const BatchShape& shape) {
  const Dims tokens = {shape.rows, shape.row_length};
  const Dims sequences = {shape.sequences}, masked = {shape.masked};
  const TaskTraits& task = traits(config.task);
  const bool has_answers = task.labels == LabelKind::kSpan;
  BatchInputs inputs{.input_ids = graph.parameter(ElementType::kS32, tokens),
                     .position_ids = graph.parameter(ElementType::kS32, tokens),
                     .segment = graph.parameter(ElementType::kS32, tokens),
                     .place = graph.parameter(ElementType::kS32, tokens),
                     .token_number = graph.parameter(ElementType::kU32, tokens),
                     .labels = {},
                     .weights = {}};
  if (config.type_vocab_size > 0) {
    inputs.token_type_ids = graph.parameter(ElementType::kS32, tokens);
  }
  if (task.rows == HeadRows::kSequences) {
    inputs.sequence_number = graph.parameter(ElementType::kU32, sequences);
  }
  if (task.rows == HeadRows::kSequences || has_answers) {
    inputs.first_token = graph.parameter(ElementType::kS32, sequences);
  }
  if (task.rows == HeadRows::kMasked) inputs.masked = graph.parameter(ElementType::kS32, masked);
  if (has_answers) inputs.ends = graph.parameter(ElementType::kS32, sequences);
  const Dims& rows = task.rows == HeadRows::kMasked                   ? masked
                     : task.rows == HeadRows::kTokens && !has_answers ? tokens
                                                                      : sequences;
  inputs.weights = graph.parameter(ElementType::kF32, rows);
  if (task.labels == LabelKind::kSet) {
    inputs.labels = graph.parameter(ElementType::kF32, {shape.sequences, config.num_outputs()});
  } else {
    const bool is_number = task.labels == LabelKind::kNumber;
    inputs.labels = graph.parameter(is_number ? ElementType::kF32 : ElementType::kS32, rows);
  }
  return inputs;
}

std::vector<BatchInputs::Named> BatchInputs::in_order() const {
  std::vector<Named> present;
  for (Named& input : std::vector<Named>{{"input_ids", input_ids},
                                         {"position_ids", position_ids},
                                         {"token_type_ids", token_type_ids},
                                         {"segment", segment},
                                         {"place", place},
                                         {"token_number", token_number},
                                         {"sequence_number", sequence_number},
                                         {"first_token", first_token},
                                         {"masked", masked},
                                         {"labels", labels},
                                         {"ends", ends},
                                         {"weights", weights}}) {
    if (input.value) present.push_back(std::move(input));
  }
  return present;
}

}  // namespace berth
