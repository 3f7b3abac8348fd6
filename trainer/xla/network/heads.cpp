#include "storage/base/error.h"
#include "trainer/xla/network/forward_pass.h"

namespace berth {
namespace {

// log(sum(exp(x))) of each row of x [N,C].
Value log_sum_exp(Value x) {
  const Value most = reduce_max(x, {1});
  return most + log(reduce_sum(exp(x - broadcast(most, x.shape(), {0})), {1}));
}

// x[n, columns[n]]; 0 where there is no such column.
Value pick(Value x, Value columns) {
  const Value column = iota(x.graph(), ElementType::kS32, x.shape(), 1);
  const Value is_picked = compare(column, Comparison::kEqual, broadcast(columns, x.shape(), {0}));
  return reduce_sum(select(is_picked, x, 0), {1});
}

// The weight of each label, and 0 where the label is negative.
Value weights_of(Value weights, Value labels) {
  return select(compare(labels, Comparison::kGreaterEqual, 0), weights, 0);
}

Loss sum_of(Value losses, Value weights) {
  return {.sum = reduce_sum(losses * weights), .weights = reduce_sum(weights)};
}

// With label smoothing (Szegedy et al. 2015, arXiv:1512.00567), each class has smoothing / C of the
// target.
Loss cross_entropy(Value logits, Value labels, Value weights, double smoothing) {
  const int64_t rows = logits.size(0);
  labels = reshape(labels, {rows});
  Value target = pick(logits, labels);
  if (smoothing > 0) {
    const Value mean = reduce_sum(logits, {1}) / static_cast<double>(logits.size(1));
    target = target + (mean - target) * smoothing;
  }
  return sum_of(log_sum_exp(logits) - target, weights_of(reshape(weights, {rows}), labels));
}

Loss squared_error(Value logits, Value targets, Value weights) {
  const Value error = logits - targets;
  return sum_of(reduce_sum(error * error, {1}), weights);
}

// The mean over the outputs of each row's squared error.
Loss mean_squared_error(Value logits, Value targets, Value weights) {
  const Value error = logits - reshape(targets, logits.shape());
  const auto outputs = static_cast<double>(logits.size(1));
  return sum_of(reduce_sum(error * error, {1}) / outputs, reshape(weights, {logits.size(0)}));
}

// The mean over the outputs of -log(sigmoid), written so that nothing overflows.
Loss binary_cross_entropy(Value logits, Value targets, Value weights) {
  const Value size = maximum(logits, negate(logits));
  const Value losses = maximum(logits, 0) - logits * targets + log1p(exp(negate(size)));
  return sum_of(reduce_sum(losses, {1}) / static_cast<double>(logits.size(1)), weights);
}

// The mean of two cross entropies over the tokens of a sequence: of where the answer starts, and of
// where it ends (Devlin et al. 2018, arXiv:1810.04805, section 4.2). logits are [T,2].
Loss span_cross_entropy(const ForwardPass& pass, Value logits) {
  const BatchInputs& batch = pass.batch;
  const Value segment = batch.segment;  // [R,S]
  const int64_t rows = segment.size(0), length = segment.size(1);
  const Value row = batch.first_token / static_cast<double>(length);  // s32 [B]
  const Value of_sequence = gather_rows(reshape(segment, {rows * length}), batch.first_token);
  const Value of_tokens = gather_rows(segment, row);  // [B,S]
  const Value is_inside =
      compare(of_tokens, Comparison::kEqual, broadcast(of_sequence, of_tokens.shape(), {0}));
  const Value first_column = row * static_cast<double>(length);
  const auto loss_of_end = [&](int64_t column, Value tokens) {
    const Value all = reshape(slice(logits, 1, column, column + 1), {rows, length});
    const Value scores = select(is_inside, gather_rows(all, row), -1e30);  // [B,S]
    return log_sum_exp(scores) - pick(scores, tokens - first_column);
  };
  const Value losses = (loss_of_end(0, batch.labels) + loss_of_end(1, batch.ends)) * 0.5;
  const Value weights = weights_of(weights_of(batch.weights, batch.labels), batch.ends);
  return sum_of(losses, weights);
}

}  // namespace

Value head_logits(ForwardPass& pass, Value hidden) {
  switch (traits(pass.config.task).rows) {
    case HeadRows::kSequences:
      return sequence_logits(pass, hidden);
    case HeadRows::kTokens:
      return token_logits(pass, hidden);
    case HeadRows::kGroups:
    case HeadRows::kPooled:
    case HeadRows::kStates:
    case HeadRows::kReplaced:  // require_device() has refused the job
      throw Error(Code::kUsage, "the task is computed on CPUs only", "--device");
    case HeadRows::kMasked:
      break;
  }
  return masked_logits(pass, hidden);
}

Value vocabulary_predictions(const ForwardPass& pass, Value logits) {
  const int64_t rows = logits.size(0);
  const Value labels = reshape(pass.batch.labels, {rows});
  const Value losses = weights_of(log_sum_exp(logits) - pick(logits, labels), labels);
  const Value most = broadcast(reduce_max(logits, {1}), logits.shape(), {0});
  const Value column = iota(logits.graph(), ElementType::kS32, logits.shape(), 1);
  const Value id = convert(column, ElementType::kF32);
  const double no_id = -static_cast<double>(logits.size(1));
  const Value is_best = compare(logits, Comparison::kEqual, most);
  const Value first_id = negate(reduce_max(select(is_best, negate(id), no_id), {1}));
  return stablehlo::concatenate({reshape(losses, {rows, 1}), reshape(first_id, {rows, 1})}, 1);
}

Loss loss_of(const ForwardPass& pass, Value logits, double label_smoothing) {
  const BatchInputs& batch = pass.batch;
  switch (traits(pass.config.task).loss) {
    case LossKind::kSquaredError:
      return squared_error(logits, batch.labels, batch.weights);
    case LossKind::kMeanSquaredError:
      return mean_squared_error(logits, batch.labels, batch.weights);
    case LossKind::kBinaryCrossEntropy:
      return binary_cross_entropy(logits, batch.labels, batch.weights);
    case LossKind::kSpanCrossEntropy:
      return span_cross_entropy(pass, logits);
    case LossKind::kCosineSquaredError:
    case LossKind::kInBatchNegatives:  // head_logits() refused both
    case LossKind::kCrossEntropy:
      break;
  }
  return cross_entropy(logits, batch.labels, batch.weights, label_smoothing);
}

}  // namespace berth
