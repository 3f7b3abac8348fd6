#include "trainer/xla/network/losses.h"

#include "trainer/xla/network/group_losses.h"

namespace berth {

using stablehlo::concatenate;

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

Loss sum_of(Value losses, Value weights) {
  return {.sum = reduce_sum(losses * weights), .weights = reduce_sum(weights)};
}

namespace {

// The weight of each label, and 0 where the label is negative.
Value weights_of(Value weights, Value labels) {
  return select(compare(labels, Comparison::kGreaterEqual, 0), weights, 0);
}

// With label smoothing (Szegedy et al. 2015, arXiv:1512.00567), each class has smoothing / C of the
// target. [N]
Value cross_entropies(Value logits, Value labels, double smoothing) {
  Value target = pick(logits, labels);
  if (smoothing > 0) {
    const Value mean = reduce_sum(logits, {1}) / static_cast<double>(logits.size(1));
    target = target + (mean - target) * smoothing;
  }
  return log_sum_exp(logits) - target;
}

Loss cross_entropy(Value logits, Value labels, Value weights, double smoothing) {
  const int64_t rows = logits.size(0);
  labels = reshape(labels, {rows});
  return sum_of(cross_entropies(logits, labels, smoothing),
                weights_of(reshape(weights, {rows}), labels));
}

// Beside a teacher's logits [B,C]: see DistillationLoss.
Loss distilled_cross_entropy(const BatchInputs& batch, Value logits, const LossOptions& options) {
  const auto& [weight, temperature] = options.distillation;
  const auto log_softmax = [&](Value x) {
    x = x * (1 / temperature);
    return x - broadcast(log_sum_exp(x), x.shape(), {0});
  };
  const Value student = log_softmax(logits), wanted = log_softmax(batch.teacher);
  const Value divergence = reduce_sum(exp(wanted) * (wanted - student), {1});
  const Value losses =
      cross_entropies(logits, batch.labels, options.label_smoothing) * (1 - weight) +
      divergence * (weight * temperature * temperature);
  return sum_of(losses, weights_of(batch.weights, batch.labels));
}

// Of the label's probability p: -(1 - p)^gamma log p (Lin et al. 2017, arXiv:1708.02002). The
// logarithm of 1 - p comes from the other logits, so that it is exact where p is near 1.
Loss focal_cross_entropy(Value logits, Value labels, Value weights, double gamma) {
  const int64_t rows = logits.size(0);
  labels = reshape(labels, {rows});
  const Value column = iota(logits.graph(), ElementType::kS32, logits.shape(), 1);
  const Value is_label =
      compare(column, Comparison::kEqual, broadcast(labels, logits.shape(), {0}));
  const Value log_sum = log_sum_exp(logits);
  const Value log_p = pick(logits, labels) - log_sum;
  const Value log_q = log_sum_exp(select(is_label, -1e30, logits)) - log_sum;
  return sum_of(negate(exp(log_q * gamma) * log_p), weights_of(reshape(weights, {rows}), labels));
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
  targets = reshape(targets, logits.shape());
  weights = reshape(weights, {logits.size(0)});
  const Value size = maximum(logits, negate(logits));
  const Value losses = maximum(logits, 0) - logits * targets + log1p(exp(negate(size)));
  return sum_of(reduce_sum(losses, {1}) / static_cast<double>(logits.size(1)), weights);
}

// The same with two factors for each output. Where its target is 1, one is its positive weight. The
// other is (1 - p)^gamma of a focal loss, where p is the probability that it gives to its target.
Loss weighted_binary_cross_entropy(Value logits, Value targets, Value weights,
                                   const LossOptions& options) {
  const Value size = maximum(logits, negate(logits)), small = log1p(exp(negate(size)));
  const Value of_positive = maximum(negate(logits), 0) + small;  // -log of the probability
  const Value of_negative = maximum(logits, 0) + small;
  const double gamma = options.focal_gamma;
  Value positive = exp(of_negative * -gamma) * of_positive;
  const Value negative = exp(of_positive * -gamma) * of_negative;
  if (!options.positive_weights.empty()) {
    const Value factors =
        constant(logits.graph(), std::span<const float>(options.positive_weights));
    positive = multiply_rows(positive, factors);
  }
  const Value losses = negative - targets * negative + targets * positive;
  return sum_of(reduce_sum(losses, {1}) / static_cast<double>(logits.size(1)), weights);
}

// The mean of two cross entropies over the tokens of a sequence: of where the answer starts, and of
// where it ends (Devlin et al. 2018, arXiv:1810.04805, section 4.2). logits are [T,2].
Loss span_cross_entropy(const ForwardPass& pass, Value logits) {
  const BatchInputs& batch = pass.batch;
  const Value segment = batch.segment;  // [R,S]
  const int64_t rows = segment.size(0), length = segment.size(1);
  // row [B]: the row in which each sequence lies. is_inside [B,S]: the columns of that row that are
  // its.
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

Loss loss_of(const ForwardPass& pass, const HeadOutputs& outputs, const LossOptions& options) {
  const BatchInputs& batch = pass.batch;
  const Value logits = outputs.logits;
  const TaskTraits& task = traits(pass.config.task);
  if (batch.gradients) {  // the sum whose derivatives by the outputs they are
    return {.sum = reduce_sum(logits * batch.gradients), .weights = element(batch.loss_sums, 1)};
  }
  if (!batch.weights) {  // embeddings or hidden states alone
    const Value none = constant(logits.graph(), 0);
    return {.sum = none, .weights = none};
  }
  if (task.rows == HeadRows::kGroups) return similarity_loss(pass, logits);
  switch (task.loss) {
    case LossKind::kSquaredError:
      return squared_error(logits, batch.labels, batch.weights);
    case LossKind::kMeanSquaredError:
      return mean_squared_error(logits, batch.labels, batch.weights);
    case LossKind::kBinaryCrossEntropy:
      if (task.rows == HeadRows::kSequences &&
          (options.focal_gamma > 0 || !options.positive_weights.empty())) {
        return weighted_binary_cross_entropy(logits, batch.labels, batch.weights, options);
      }
      return binary_cross_entropy(logits, batch.labels, batch.weights);
    case LossKind::kSpanCrossEntropy:
      return span_cross_entropy(pass, logits);
    case LossKind::kReranking:
      return reranking_loss(pass, logits);
    case LossKind::kCosineSquaredError:
    case LossKind::kInBatchNegatives:  // their rows are groups
    case LossKind::kCrossEntropy:
      break;
  }
  if (outputs.next_sentences) {
    Loss loss = cross_entropy(logits, batch.labels, batch.weights, options.label_smoothing);
    const Loss next = cross_entropy(outputs.next_sentences, batch.next_sentences,
                                    batch.next_weights, options.label_smoothing);
    loss.second_sum = next.sum;
    loss.second_weights = next.weights;
    return loss;
  }
  if (options.focal_gamma > 0 && task.rows != HeadRows::kMasked) {
    return focal_cross_entropy(logits, batch.labels, batch.weights, options.focal_gamma);
  }
  if (batch.teacher) return distilled_cross_entropy(batch, logits, options);
  return cross_entropy(logits, batch.labels, batch.weights, options.label_smoothing);
}

namespace {

// The first id that has the largest logit [M]: the largest of the negated ids.
Value likely_ids(Value logits) {
  const Value most = broadcast(reduce_max(logits, {1}), logits.shape(), {0});
  const Value column = iota(logits.graph(), ElementType::kS32, logits.shape(), 1);
  const Value id = convert(column, ElementType::kF32);
  const double no_id = -static_cast<double>(logits.size(1));
  const Value is_best = compare(logits, Comparison::kEqual, most);
  return negate(reduce_max(select(is_best, negate(id), no_id), {1}));
}

// Of masked tokens, in place of logits [M,V]: [M,2], the loss of each without its weight (0 where
// it has no label), and the first id that has the largest logit.
Value vocabulary_predictions(const ForwardPass& pass, Value logits) {
  const int64_t rows = logits.size(0);
  const Value labels = reshape(pass.batch.labels, {rows});
  const Value losses = weights_of(log_sum_exp(logits) - pick(logits, labels), labels);
  return concatenate({reshape(losses, {rows, 1}), reshape(likely_ids(logits), {rows, 1})}, 1);
}

}  // namespace

Value inferred(const ForwardPass& pass, const HeadOutputs& outputs) {
  const Value logits = outputs.logits;
  switch (traits(pass.config.task).rows) {
    case HeadRows::kTokens:
    case HeadRows::kStates:
    case HeadRows::kReplaced: {
      const Value tokens = pass.batch.segment;  // [R,S]
      return reshape(logits, {tokens.size(0), tokens.size(1), logits.size(1)});
    }
    case HeadRows::kMasked:
      return vocabulary_predictions(pass, logits);
    case HeadRows::kMaskedAndFirst:
      return concatenate({vocabulary_predictions(pass, logits), outputs.next_sentences}, 0);
    case HeadRows::kGroups:
      return pass.batch.group > 1 ? compared(pass, logits) : logits;
    case HeadRows::kSequences:
    case HeadRows::kPooled:
      break;
  }
  return logits;
}

namespace {

// The sums of x [N,K] up to each column, that column included.
Value running_sums(Value x) {
  const Dims shape = {x.size(1), x.size(1)};
  const Value is_before =
      compare(iota(x.graph(), ElementType::kS32, shape, 0), Comparison::kLessEqual,
              iota(x.graph(), ElementType::kS32, shape, 1));
  return dot(x, convert(is_before, ElementType::kF32), {.contracted_x = {1}, .contracted_y = {0}});
}

// How many columns of each row hold at most the row's number: f32 [N].
Value count_up_to(Value x, Value numbers) {
  const Value is_within = compare(x, Comparison::kLessEqual, broadcast(numbers, x.shape(), {0}));
  return reduce_sum(convert(is_within, ElementType::kF32), {1});
}

}  // namespace

// The first id up to which the probabilities sum to more than the token's number. First the
// sums of blocks of ids are compared with it, and then the sums inside the block.
Value drawn_ids(const BatchInputs& batch, Value logits) {
  constexpr int64_t kBlock = 256;
  const int64_t rows = logits.size(0), vocabulary = logits.size(1);
  const int64_t blocks = (vocabulary + kBlock - 1) / kBlock;
  Graph& graph = logits.graph();
  const Value probabilities = exp(logits - broadcast(log_sum_exp(logits), logits.shape(), {0}));
  const Value by_block =
      reshape(pad(probabilities, 1, 0, blocks * kBlock - vocabulary), {rows, blocks, kBlock});
  // 1. The block [M], and the sum of the blocks before it.
  const Value up_to = running_sums(reduce_sum(by_block, {2}));  // [M,blocks]
  const Value found = count_up_to(up_to, batch.draws);
  const Value last_block = constant(graph, static_cast<double>(blocks - 1), ElementType::kF32);
  const Value block = select(compare(found, Comparison::kGreater, broadcast(last_block, {rows})),
                             broadcast(last_block, {rows}), found);
  const Value number = convert(block, ElementType::kS32);
  const Value before = pick(up_to, number - 1);  // 0 for the first block
  // 2. The id in it. Rounding may hide the end of the sum: then it is the last possible id.
  const Value row = iota(graph, ElementType::kS32, {rows}, 0);
  const Value inside = gather_rows(reshape(by_block, {rows * blocks, kBlock}),
                                   row * static_cast<double>(blocks) + number);  // [M,block]
  const Value place = count_up_to(running_sums(inside), batch.draws - before);
  const Value column =
      convert(iota(graph, ElementType::kS32, inside.shape(), 1), ElementType::kF32);
  const Value last = reduce_max(select(compare(inside, Comparison::kGreater, 0), column, 0), {1});
  const Value id = block * static_cast<double>(kBlock) +
                   select(compare(place, Comparison::kGreater, last), last, place);
  const Value is_found = compare(found, Comparison::kLessEqual, broadcast(last_block, {rows}));
  const Value drawn = select(is_found, id, likely_ids(logits));
  return select(compare(batch.labels, Comparison::kGreaterEqual, 0), drawn, -1);
}

}  // namespace berth
