#include "trainer/xla/network/batch_inputs.h"

#include <utility>

namespace berth {
namespace {

// Whether labels are targets with a number for each output.
bool has_targets(LossKind loss) {
  switch (loss) {
    case LossKind::kSquaredError:
    case LossKind::kMeanSquaredError:
    case LossKind::kBinaryCrossEntropy:
    case LossKind::kReranking:
    case LossKind::kCosineSquaredError:
      return true;
    case LossKind::kCrossEntropy:
    case LossKind::kSpanCrossEntropy:
    case LossKind::kInBatchNegatives:
      break;
  }
  return false;
}

// Whether the outputs have a loss: embeddings and hidden states alone have none.
bool has_loss(const TaskTraits& task, bool is_grouped) {
  const bool is_state = task.rows == HeadRows::kPooled || task.rows == HeadRows::kStates;
  return !is_state && (is_grouped || task.rows != HeadRows::kGroups);
}

// Adds inputs to a program.
class Inputs {
 public:
  Inputs(Graph& graph, const ModelConfig& config, const BatchShape& shape)
      : graph_(graph), config_(config), shape_(shape) {
    all_.group = shape.group;
  }

  void add_tokens() {
    const Dims tokens = {shape_.rows, shape_.row_length};
    add("input_ids", all_.input_ids, ElementType::kS32, tokens);
    add("position_ids", all_.position_ids, ElementType::kS32, tokens);
    if (config_.type_vocab_size > 0) {
      add("token_type_ids", all_.token_type_ids, ElementType::kS32, tokens);
    }
    add("segment", all_.segment, ElementType::kS32, tokens);
    add("place", all_.place, ElementType::kS32, tokens);
    add("token_number", all_.token_number, ElementType::kU32, tokens);
  }

  // Of sequences [B], of masked tokens [M], and of the sequences of examples [E*G].
  void add_sequences() {
    if (is_of_sequences() || has_next()) {
      add("sequence_number", all_.sequence_number, ElementType::kU32, sequences());
    }
    if (is_of_sequences() || has_answers() || has_next()) {
      add("first_token", all_.first_token, ElementType::kS32, sequences());
    }
    if (is_masked()) add("masked", all_.masked, ElementType::kS32, masked());
    if (config_.is_generator) add("draws", all_.draws, ElementType::kF32, masked());
    if (!is_grouped()) return;
    add("slots", all_.slots, ElementType::kS32, slots());
    add("own_slots", all_.own_slots, ElementType::kF32, slots());
  }

  // The outputs of all examples, in place of what they are computed from.
  void add_embeddings() {
    const int64_t count = shape_.examples * shape_.group;
    add("embeddings", all_.embeddings, ElementType::kF32, {count, config_.embedding_dimension()});
    add("own_slots", all_.own_slots, ElementType::kF32, slots());
  }

  void add_gradients() {
    add("gradients", all_.gradients, ElementType::kF32,
        {shape_.sequences, config_.embedding_dimension()});
    add("loss_sums", all_.loss_sums, ElementType::kF32, {2});
  }

  // Labels, or targets with a number for each output, and their weights.
  void add_labels() {
    if (!has_loss(task_, is_grouped())) return;
    const Dims rows = is_masked()                          ? masked()
                      : is_grouped()                       ? Dims{shape_.examples}
                      : is_of_sequences() || has_answers() ? sequences()
                                                           : Dims{shape_.rows, shape_.row_length};
    Dims labels = rows;
    const bool has_scores = task_.labels == LabelKind::kPlaceInBatch &&
                            task_.loss == LossKind::kReranking &&
                            learns_scores(config_.reranking.loss);
    if (has_targets(task_.loss))
      labels.push_back(has_scores ? shape_.group : config_.num_outputs());
    if (task_.labels != LabelKind::kPlaceInBatch || has_scores) {
      add("labels", all_.labels, has_targets(task_.loss) ? ElementType::kF32 : ElementType::kS32,
          labels);
    }
    if (has_answers()) add("ends", all_.ends, ElementType::kS32, sequences());
    if (shape_.has_teacher) {
      add("teacher", all_.teacher, ElementType::kF32, {shape_.sequences, config_.num_outputs()});
    }
    add("weights", all_.weights, ElementType::kF32, rows);
    if (!has_next()) return;
    add("next_sentences", all_.next_sentences, ElementType::kS32, sequences());
    add("next_weights", all_.next_weights, ElementType::kF32, sequences());
  }

  BatchInputs take() { return std::move(all_); }

 private:
  void add(const char* name, Value& member, ElementType element, const Dims& dims) {
    member = graph_.parameter(element, dims);
    all_.in_order.push_back({name, member});
  }

  bool is_grouped() const { return shape_.group > 1; }
  bool has_answers() const { return task_.labels == LabelKind::kSpan; }
  bool has_next() const { return task_.rows == HeadRows::kMaskedAndFirst; }
  bool is_masked() const { return task_.rows == HeadRows::kMasked || has_next(); }
  bool is_of_sequences() const {
    return task_.rows == HeadRows::kSequences || task_.rows == HeadRows::kPooled ||
           task_.rows == HeadRows::kGroups;
  }
  Dims sequences() const { return {shape_.sequences}; }
  Dims masked() const { return {shape_.masked}; }
  Dims slots() const { return {shape_.examples * shape_.group}; }

  Graph& graph_;
  const ModelConfig& config_;
  const BatchShape& shape_;
  const TaskTraits& task_ = traits(config_.task);
  BatchInputs all_;
};

}  // namespace

BatchInputs batch_inputs(Graph& graph, const ModelConfig& config, const BatchShape& shape) {
  Inputs inputs(graph, config, shape);
  if (shape.rows > 0) {
    inputs.add_tokens();
    inputs.add_sequences();
  } else {
    inputs.add_embeddings();
  }
  shape.has_gradients ? inputs.add_gradients() : inputs.add_labels();
  return inputs.take();
}

}  // namespace berth
