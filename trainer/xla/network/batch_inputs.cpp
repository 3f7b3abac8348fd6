#include "trainer/xla/network/batch_inputs.h"

namespace berth {

BatchInputs batch_inputs(Graph& graph, const ModelConfig& config, const BatchShape& shape) {
  const Dims tokens = {shape.rows, shape.row_length};
  const Dims sequences = {shape.sequences}, masked = {shape.masked};
  const TaskTraits& task = traits(config.task);
  const bool has_answers = task.labels == LabelKind::kSpan;
  const bool is_masked = task.rows == HeadRows::kMasked;
  const bool is_of_sequences = task.rows == HeadRows::kSequences;
  BatchInputs inputs;
  const auto add = [&](const char* name, Value& member, ElementType element, const Dims& dims) {
    member = graph.parameter(element, dims);
    inputs.in_order.push_back({name, member});
  };
  // Of each token [R,S].
  add("input_ids", inputs.input_ids, ElementType::kS32, tokens);
  add("position_ids", inputs.position_ids, ElementType::kS32, tokens);
  if (config.type_vocab_size > 0) {
    add("token_type_ids", inputs.token_type_ids, ElementType::kS32, tokens);
  }
  add("segment", inputs.segment, ElementType::kS32, tokens);
  add("place", inputs.place, ElementType::kS32, tokens);
  add("token_number", inputs.token_number, ElementType::kU32, tokens);
  // Of sequences [B], and of masked tokens [M].
  if (is_of_sequences) {
    add("sequence_number", inputs.sequence_number, ElementType::kU32, sequences);
  }
  if (is_of_sequences || has_answers) {
    add("first_token", inputs.first_token, ElementType::kS32, sequences);
  }
  if (is_masked) add("masked", inputs.masked, ElementType::kS32, masked);
  // Labels, or targets with a number for each output, and their weights.
  const bool has_targets =
      task.loss == LossKind::kSquaredError || task.loss == LossKind::kMeanSquaredError ||
      task.loss == LossKind::kBinaryCrossEntropy || task.loss == LossKind::kReranking;
  const Dims& rows = is_masked ? masked : is_of_sequences || has_answers ? sequences : tokens;
  Dims labels = rows;
  if (has_targets) labels.push_back(config.num_outputs());
  add("labels", inputs.labels, has_targets ? ElementType::kF32 : ElementType::kS32, labels);
  if (has_answers) add("ends", inputs.ends, ElementType::kS32, sequences);
  add("weights", inputs.weights, ElementType::kF32, rows);
  return inputs;
}

}  // namespace berth
