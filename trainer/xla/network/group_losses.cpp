#include "trainer/xla/network/group_losses.h"

#include <numbers>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

using stablehlo::concatenate;

namespace {

constexpr double kLeastUnit = 1e-12;   // of a length, as in torch.nn.functional.normalize
constexpr double kLeastCosine = 1e-8;  // and as in torch.cosine_similarity
constexpr double kShift = 1e-6;   // of differences, as in torch.nn.functional.pairwise_distance
constexpr double kNever = -1e30;  // a score that has no share of a softmax
// Equal texts have embeddings that differ by rounding, because they stand elsewhere in their rows.
// The cosines of such embeddings are no farther apart.
constexpr double kRounding = 1e-6;

// ---- Embeddings ---------------------------------------------------------------------------------

// x [N,H] as rows of length 1, of which none counts as shorter than `least`.
Value unit_rows(Value x, double least) {
  const Value squares = maximum(reduce_sum(x * x, {1}), least * least);
  return x * broadcast(rsqrt(squares), x.shape(), {0});
}

// Text number `text` of each example [E,H].
Value text_of(Value embeddings, int64_t group, int64_t text) {
  const int64_t examples = embeddings.size(0) / group, hidden = embeddings.size(1);
  return reshape(slice(reshape(embeddings, {examples, group, hidden}), 1, text, text + 1),
                 {examples, hidden});
}

// 1 for each of the E*G sequences that exists.
Value real_slots(const ForwardPass& pass) {
  return all_reduce(pass.batch.own_slots, pass.replicas);
}

// |x|, whose derivative at 0 is 0.
Value absolute(Value x) {
  const Value of_negative = select(compare(x, Comparison::kLess, 0), negate(x), 0);
  return select(compare(x, Comparison::kGreater, 0), x, of_negative);
}

Value cosines(Value u, Value v, double least) {
  return reduce_sum(unit_rows(u, least) * unit_rows(v, least), {1});
}

// |cosine + sine| of u and v as complex vectors, whose real parts are their first halves. The sine
// is the imaginary part of the product of v and the conjugate of u.
Value angles(Value u, Value v) {
  const Value of_u = unit_rows(u, kLeastUnit), of_v = unit_rows(v, kLeastUnit);
  const int64_t size = u.size(1), half = (size + 1) / 2;
  const auto real = [&](Value x) { return slice(x, 1, 0, size - half); };
  const auto imaginary = [&](Value x) { return slice(x, 1, half, size); };
  const Value sine = reduce_sum(imaginary(of_u) * real(of_v) - real(of_u) * imaginary(of_v), {1});
  return absolute(reduce_sum(of_u * of_v, {1}) + sine);
}

Value distances(Value u, Value v, EmbeddingDistance distance, double least, double shift) {
  if (distance == EmbeddingDistance::kCosine) return 1 - cosines(u, v, least);
  const Value apart = u - v + shift;
  if (distance == EmbeddingDistance::kManhattan) return reduce_sum(absolute(apart), {1});
  constexpr double kLeastSquare = 1e-36;  // so that the root has a derivative
  return sqrt(maximum(reduce_sum(apart * apart, {1}), kLeastSquare));
}

// ---- Losses of a batch --------------------------------------------------------------------------

// kNever in the columns of texts that are padding. The columns are blocks of one for each example.
Value without_padding(const ForwardPass& pass, Value scores) {
  const int64_t group = pass.batch.group, examples = scores.size(0);
  const Value is_real =
      reshape(slice(reshape(real_slots(pass), {examples, group}), 1, 0, 1), {examples});
  const std::vector<Value> blocks(static_cast<size_t>(scores.size(1) / examples), is_real);
  const Value exists = compare(concatenate(blocks, 0), Comparison::kGreater, 0);
  return select(broadcast(exists, scores.shape(), {1}), scores, kNever);
}

// The cosines of all first texts with all others [E,(G-1)*E]: the second texts of all examples,
// then their third ones, and so on. Texts that are padding have kNever.
Value all_cosines(const ForwardPass& pass, Value embeddings) {
  const int64_t group = pass.batch.group;
  const Value unit = unit_rows(embeddings, kLeastUnit);
  std::vector<Value> texts;
  for (int64_t text = 1; text < group; ++text) texts.push_back(text_of(unit, group, text));
  return without_padding(pass, dot(text_of(unit, group, 0), concatenate(texts, 0),
                                   {.contracted_x = {1}, .contracted_y = {1}}));
}

// The cosines of text number `text` of all examples with each other [E,E]. A text is not compared
// with itself, which has kNever, and so have texts that are padding.
Value cosines_of_kind(const ForwardPass& pass, Value embeddings, int64_t text) {
  const Value unit = unit_rows(text_of(embeddings, pass.batch.group, text), kLeastUnit);
  const Value scores = dot(unit, unit, {.contracted_x = {1}, .contracted_y = {1}});
  const Value is_itself =
      compare(iota(scores.graph(), ElementType::kS32, scores.shape(), 0), Comparison::kEqual,
              iota(scores.graph(), ElementType::kS32, scores.shape(), 1));
  return without_padding(pass, select(is_itself, kNever, scores));
}

// The number of each example's own second text among the columns [E].
Value own_columns(Value scores) {
  return iota(scores.graph(), ElementType::kS32, {scores.size(0)}, 0);
}

// Minus infinity for texts that the rule says are likely to belong to the first one as well.
Value without_false_negatives(const FalseNegativeRule& rule, Value scores, Value own) {
  const Value threshold = own - absolute(own) * rule.relative_margin - rule.margin;
  const Value column = iota(scores.graph(), ElementType::kS32, scores.shape(), 1);
  const Value is_other =
      compare(column, Comparison::kNotEqual, broadcast(own_columns(scores), scores.shape(), {0}));
  const Value is_near =
      compare(scores, Comparison::kGreater, broadcast(threshold, scores.shape(), {0}));
  return select(is_other & is_near, kNever, scores);
}

Loss in_batch_negatives(const ForwardPass& pass, Value embeddings, bool is_symmetric) {
  const SimilarityObjective& objective = pass.config.similarity;
  std::vector<Value> blocks = {all_cosines(pass, embeddings)};
  if (objective.contrasts_anchors) blocks.push_back(cosines_of_kind(pass, embeddings, 0));
  if (objective.contrasts_positives) blocks.push_back(cosines_of_kind(pass, embeddings, 1));
  Value scores = concatenate(blocks, 1);
  const Value own = pick(scores, own_columns(scores));
  if (objective.rule.is_on) scores = without_false_negatives(objective.rule, scores, own);
  const Value of_rows = log_sum_exp(scores * objective.scale);
  if (!is_symmetric) return sum_of(of_rows - own * objective.scale, pass.batch.weights);
  // In the other direction, each second text finds its first one.
  const int64_t examples = scores.size(0);
  const Value found = transpose(slice(scores, 1, 0, examples), {1, 0});
  const Value is_real = compare(pass.batch.weights, Comparison::kGreater, 0);
  const Value of_columns =
      log_sum_exp(select(broadcast(is_real, found.shape(), {1}), found * objective.scale, kNever));
  return sum_of((of_rows + of_columns) * 0.5 - own * objective.scale, pass.batch.weights);
}

// A loss of the batch counts as the loss of each of its rows.
Loss of_each_row(Value loss, Value weights) {
  const Value rows = reduce_sum(weights);
  return {.sum = loss * rows, .weights = rows};
}

// The logarithm of 1 + the sum of exp(s_i - s_j) over all pairs of rows where row j has the larger
// label. Here s is a similarity times the scale.
Loss cosent_loss(Value similarities, Value labels, Value weights, double scale) {
  const int64_t rows = labels.size(0);
  const Dims shape = {rows, rows};
  const auto of_first = [&](Value x) { return broadcast(x, shape, {0}); };
  const auto of_second = [&](Value x) { return broadcast(x, shape, {1}); };
  const Value is_row = compare(weights, Comparison::kGreater, 0);
  const Value counts = compare(of_second(labels), Comparison::kGreater, of_first(labels)) &
                       of_first(is_row) & of_second(is_row);
  const Value scores = similarities * scale;
  const Value pairs = select(counts, of_first(scores) - of_second(scores), kNever);
  const Value all = concatenate(
      {reshape(pairs, {1, rows * rows}), constant(pairs.graph(), 0, ElementType::kF32, {1, 1})}, 1);
  return of_each_row(reshape(log_sum_exp(all), {}), weights);
}

// What Kernels::pair_loss() computes: like rows (label 1) add their distance if it is larger than
// the least one of unlike rows. Unlike rows add what they lack of the margin if their distance is
// less than the largest one of like rows. Where one kind is absent, the mean of the other takes the
// place of its limit.
Loss online_contrastive_loss(Value apart, Value labels, Value weights, double margin) {
  constexpr double kFar = 1e30;
  const Value is_row = compare(weights, Comparison::kGreater, 0);
  const Value is_like = compare(labels, Comparison::kEqual, 1) & is_row;
  const Value is_unlike = compare(labels, Comparison::kNotEqual, 1) & is_row;
  const auto count = [](Value is_kind) { return reduce_sum(convert(is_kind, ElementType::kF32)); };
  const auto mean = [&](Value is_kind) {
    return reduce_sum(select(is_kind, apart, 0)) / maximum(count(is_kind), 1);
  };
  const auto exists = [&](Value is_kind) {
    return compare(count(is_kind), Comparison::kGreater, 0);
  };
  const Value farthest = reduce_max(select(is_like, apart, -kFar), {0});
  const Value nearest = negate(reduce_max(negate(select(is_unlike, apart, kFar)), {0}));
  const Value most = select(exists(is_like), farthest, mean(is_unlike));
  const Value least = select(exists(is_unlike), nearest, mean(is_like));
  const Value lacking = maximum(margin - apart, 0);
  const auto all = [&](Value x) { return broadcast(x, apart.shape()); };
  const Value of_like =
      select(is_like & compare(apart, Comparison::kGreater, all(least)), apart * apart, 0);
  const Value of_unlike =
      select(is_unlike & compare(apart, Comparison::kLess, all(most)), lacking * lacking, 0);
  return of_each_row(reduce_sum(of_like + of_unlike), weights);
}

Loss pair_loss(const ForwardPass& pass, Value embeddings, SimilarityLoss loss) {
  const SimilarityObjective& objective = pass.config.similarity;
  const Value u = text_of(embeddings, 2, 0), v = text_of(embeddings, 2, 1);
  const Value labels = reshape(pass.batch.labels, {u.size(0)}), weights = pass.batch.weights;
  if (loss == SimilarityLoss::kCosine) {
    const Value error = cosines(u, v, kLeastCosine) - labels;
    return sum_of(error * error, weights);
  }
  if (loss == SimilarityLoss::kCosent) {
    return cosent_loss(cosines(u, v, kLeastUnit), labels, weights, objective.scale);
  }
  if (loss == SimilarityLoss::kAngle) {
    return cosent_loss(angles(u, v), labels, weights, objective.scale);
  }
  const Value apart = distances(u, v, objective.distance, kLeastCosine, kShift);
  if (loss == SimilarityLoss::kOnlineContrastive) {
    return online_contrastive_loss(apart, labels, weights, objective.margin);
  }
  const Value lacking = maximum(objective.margin - apart, 0);
  return sum_of((labels * apart * apart + (1 - labels) * lacking * lacking) * 0.5, weights);
}

Loss triplet_loss(const ForwardPass& pass, Value embeddings) {
  const SimilarityObjective& objective = pass.config.similarity;
  const auto apart = [&](int64_t text) {
    return distances(text_of(embeddings, 3, 0), text_of(embeddings, 3, text), objective.distance,
                     kLeastUnit, /*shift=*/0);
  };
  return sum_of(maximum(apart(1) - apart(2) + objective.margin, 0), pass.batch.weights);
}

bool ranks(const ForwardPass& pass) {
  return traits(pass.config.task).loss == LossKind::kInBatchNegatives;
}

Loss loss_of_embeddings(const ForwardPass& pass, Value embeddings, SimilarityLoss loss) {
  switch (loss) {
    case SimilarityLoss::kInBatchNegatives:
    case SimilarityLoss::kSymmetric:
      return in_batch_negatives(pass, embeddings, loss == SimilarityLoss::kSymmetric);
    case SimilarityLoss::kTriplet:
      return triplet_loss(pass, embeddings);
    default:
      return pair_loss(pass, embeddings, loss);
  }
}

}  // namespace

Loss similarity_loss(const ForwardPass& pass, Value embeddings) {
  const SimilarityObjective& objective = pass.config.similarity;
  const SimilarityLoss loss = objective.loss.value_or(
      ranks(pass) ? SimilarityLoss::kInBatchNegatives : SimilarityLoss::kCosine);
  // Rows to predict may have any number of texts, and they have no loss.
  if (loss == SimilarityLoss::kTriplet && pass.batch.group != 3) {
    const Value none = constant(embeddings.graph(), 0);
    return {.sum = none, .weights = none};
  }
  const int64_t whole = embeddings.size(1);
  std::vector<NestedSize> sizes = objective.nested;
  // Cosines are the same for embeddings of any length.
  const bool measures_lengths =
      has_margin(loss) && objective.distance != EmbeddingDistance::kCosine;
  if (sizes.empty() && objective.compared_size == 0 &&
      !(measures_lengths && pass.config.normalizes_embeddings)) {
    return loss_of_embeddings(pass, embeddings, loss);
  }
  if (sizes.empty()) {
    sizes = {{.size = objective.compared_size > 0 ? objective.compared_size : whole}};
  }
  // The weighted sum of the losses of all sizes. The examples count once.
  Loss all;
  for (const NestedSize& size : sizes) {
    const Value part = unit_rows(slice(embeddings, 1, 0, size.size), kLeastUnit);
    const Loss of_part = loss_of_embeddings(pass, part, loss);
    const Value weighted = of_part.sum * size.weight;
    all = {.sum = all.sum ? all.sum + weighted : weighted, .weights = of_part.weights};
  }
  return all;
}

void require_known_loss(const ModelConfig& config) {
  const auto refuse = [](const char* problem) {
    throw Error(Code::kUsage, cat("the device does not compute ", problem), "", "use --device cpu");
  };
  if (traits(config.task).rows != HeadRows::kGroups) return;
  const SimilarityObjective& objective = config.similarity;
  if (!config.sources.empty()) refuse("the losses of several sources of rows");
  if (objective.loss && (learns_scores(*objective.loss) || learns_embeddings(*objective.loss))) {
    refuse("a loss that learns from a teacher of texts");
  }
  if (objective.vector_size > 0) refuse("a loss with another model as its guide");
}

Value compared(const ForwardPass& pass, Value embeddings) {
  const int64_t size = pass.config.similarity.compared_size;
  if (size > 0) embeddings = unit_rows(slice(embeddings, 1, 0, size), kLeastUnit);
  const int64_t examples = embeddings.size(0) / pass.batch.group;
  const auto column = [&](Value x) { return reshape(x, {examples, 1}); };
  if (!ranks(pass)) {
    std::vector<Value> columns;
    const auto add = [&](Value all) {
      columns.push_back(column(cosines(text_of(all, 2, 0), text_of(all, 2, 1), kLeastCosine)));
    };
    add(embeddings);
    for (const int64_t shorter : shorter_sizes(pass.config.similarity, embeddings.size(1))) {
      add(unit_rows(slice(embeddings, 1, 0, shorter), kLeastUnit));
    }
    return concatenate(columns, 1);
  }
  const Value scores = all_cosines(pass, embeddings);
  const Value own = pick(scores, own_columns(scores));
  const Value is_best =
      compare(own + kRounding, Comparison::kGreaterEqual, reduce_max(scores, {1}));
  return concatenate({column(own), column(convert(is_best, ElementType::kF32))}, 1);
}

// ---- Cross-encoders -----------------------------------------------------------------------------

namespace {

// log(1 + exp(x)), where nothing overflows.
Value softplus(Value x) { return maximum(x, 0) + log1p(exp(negate(maximum(x, negate(x))))); }

// The discount of a rank from 0 on: 1 / log2(rank + 2).
Value discounts(Value rank) { return std::numbers::ln2 / log(rank + 2); }

// The first passage has the gain 1 and the others have none. Each pair of it with another one costs
// log2(1 + exp(difference)), times a weight that depends on both ranks. Equal logits have the order
// of the passages. [E]
Value lambda_losses(Value x) {
  constexpr double kMu = 10;
  const int64_t rows = x.size(0), passages = x.size(1);
  const Dims pairs = {rows, passages, passages};  // [E,passage,other]
  const Value one = broadcast(x, pairs, {0, 1}), other = broadcast(x, pairs, {0, 2});
  const Value is_before = compare(iota(x.graph(), ElementType::kS32, pairs, 2), Comparison::kLess,
                                  iota(x.graph(), ElementType::kS32, pairs, 1));
  const Value is_above = compare(other, Comparison::kGreater, one) |
                         (compare(other, Comparison::kEqual, one) & is_before);
  const Value rank = reduce_sum(convert(is_above, ElementType::kF32), {2});
  const auto first = [&](Value of_passages) {
    return broadcast(reshape(slice(of_passages, 1, 0, 1), {rows}), x.shape(), {0});
  };
  const Value apart = maximum(absolute(rank - first(rank)), 1);
  const Value weight = (absolute(discounts(apart - 1) - discounts(apart)) * kMu +
                        absolute(discounts(first(rank)) - discounts(rank))) *
                       (1 / std::numbers::ln2);
  const Value losses = stop_gradient(weight) * softplus(x - first(x));
  return reduce_sum(slice(losses, 1, 1, passages), {1}) / static_cast<double>(passages - 1);
}

}  // namespace

Loss reranking_loss(const ForwardPass& pass, Value logits) {
  const RerankingObjective& objective = pass.config.reranking;
  const Value weights = pass.batch.weights;
  const Value column = iota(logits.graph(), ElementType::kS32, logits.shape(), 1);
  const Value is_right = compare(column, Comparison::kEqual, 0);
  const Value targets =
      pass.batch.labels ? pass.batch.labels : convert(is_right, ElementType::kF32);
  const auto mean = [&](Value losses) {
    return sum_of(reduce_sum(losses, {1}) / static_cast<double>(logits.size(1)), weights);
  };
  // How much higher the first passage's number is than each one's.
  const auto margins = [](Value x) {
    const Value first = reshape(slice(x, 1, 0, 1), {x.size(0)});
    return broadcast(first, x.shape(), {0}) - x;
  };
  switch (objective.loss) {
    case RerankingLoss::kMarginMse: {
      const Value error = margins(logits) - margins(targets);  // the first one is 0
      return sum_of(reduce_sum(error * error, {1}) / static_cast<double>(logits.size(1) - 1),
                    weights);
    }
    case RerankingLoss::kSquaredError: {
      const Value error = logits - targets;
      return mean(error * error);
    }
    case RerankingLoss::kSoftmax:
      return sum_of(log_sum_exp(logits) - reshape(slice(logits, 1, 0, 1), {logits.size(0)}),
                    weights);
    case RerankingLoss::kLambda:
      return sum_of(lambda_losses(logits), weights);
    case RerankingLoss::kBinaryCrossEntropy:
      break;
  }
  const Value of_negative = softplus(logits), of_positive = softplus(negate(logits));
  // torch.nn.BCEWithLogitsLoss calls the factor pos_weight.
  return mean(of_negative - targets * of_negative +
              targets * of_positive * objective.positive_weight);
}

}  // namespace berth
