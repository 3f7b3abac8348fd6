#include "trainer/cpu/network/group_loss.h"

#include <algorithm>
#include <cassert>

#include "storage/base/profiler.h"

namespace berth {
namespace {

// The first rows * columns elements of `memory` as a matrix.
Tensor as_rows(Tensor memory, int64_t rows, int64_t columns) {
  Tensor matrix = memory.first(rows * columns);
  matrix.rank = 2;
  matrix.shape = {rows, columns, 0};
  return matrix;
}

}  // namespace

void TextTargets::allocate(const ModelConfig& config, const BatchLimits& limits, Arena& arena) {
  const SimilarityObjective& objective = config.similarity;
  if (objective.vector_size > 0) {
    vectors_ = arena.make(DType::kF32, {limits.sequences, objective.vector_size});
  }
  // The rows of several sources bring their labels as scores.
  const bool are_learnt = ranks_passages(config.task)
                              ? learns_scores(config.reranking.loss)
                              : objective.loss && learns_scores(*objective.loss);
  if (!config.sources.empty() || are_learnt) {
    scores_ = arena.make(DType::kF32, {limits.sequences});
  }
}

void TextTargets::upload(const PackedBatch& batch, BatchTensors& tensors) const {
  if (!batch.text_vectors.empty() && vectors_) {
    tensors.text_vectors = vectors_.first(batch.num_sequences());
    assert(batch.text_vectors.size() == static_cast<size_t>(tensors.text_vectors.elements()));
    copy_in(tensors.text_vectors, batch.text_vectors.data());
  }
  if (!batch.text_scores.empty() && scores_) {
    const int64_t examples = batch.num_examples(), scores = std::ssize(batch.text_scores);
    assert(scores % examples == 0 && scores <= batch.num_sequences());
    tensors.text_scores = as_rows(scores_, examples, scores / examples);
    copy_in(tensors.text_scores, batch.text_scores.data());
  }
}

GroupLoss::GroupLoss(const ModelConfig& config, Kernels& kernels, Communicator* workers)
    : config_(config), kernels_(kernels), workers_(workers) {}

SimilarityLoss GroupLoss::loss() const {
  return objective().loss.value_or(ranks() ? SimilarityLoss::kInBatchNegatives
                                           : SimilarityLoss::kCosine);
}

RankingLoss GroupLoss::ranking_loss() const {
  const SimilarityObjective& objective = this->objective();
  return {.scale = objective.scale,
          .is_symmetric = loss() == SimilarityLoss::kSymmetric,
          .rule = objective.rule,
          .contrasts_anchors = objective.contrasts_anchors,
          .contrasts_positives = objective.contrasts_positives};
}

bool GroupLoss::takes_vectors() const {
  const bool is_first = config_.sources.empty() || source_ == 0;
  return is_first && config_.similarity.vector_size > 0;
}

bool GroupLoss::is_plain() const {
  const bool is_usual =
      loss() == (ranks() ? SimilarityLoss::kInBatchNegatives : SimilarityLoss::kCosine);
  return is_usual && !takes_parts();
}

bool GroupLoss::takes_parts() const {
  const SimilarityObjective& objective = this->objective();
  // Cosines are the same for embeddings of any length.
  const bool measures_lengths =
      learns_scores(loss()) || loss() == SimilarityLoss::kEmbeddingMse ||
      (has_margin(loss()) && objective.distance != EmbeddingDistance::kCosine);
  return !objective.nested.empty() || objective.compared_size > 0 ||
         (measures_lengths && config_.normalizes_embeddings);
}

void GroupLoss::allocate(Arena& arena, const BatchLimits& limits) {
  const int64_t sequences = std::max(limits.sequences, limits.compared_sequences);
  // Rows of fewer texts are more rows, and take more room.
  const int64_t fewest = config_.fewest_texts_per_row;
  const int64_t texts = fewest > 0 ? fewest : config_.texts_per_row;
  const int64_t examples = sequences / texts;
  const int64_t shown = std::ssize(shown_sizes());
  outputs_ = arena.make(DType::kF32, {examples * (config_.num_outputs() + shown)});
  if (limits.compared_sequences > 0) {
    make_all(arena, {&all_, &dall_}, {sequences, config_.embedding_dimension()});
    make_all(arena, {&all_targets_, &all_weights_}, {examples});
    if (const int64_t size = config_.similarity.vector_size; size > 0) {
      all_vectors_ = arena.make(DType::kF32, {sequences, size});
    }
  }
  // What any of the sources needs.
  int64_t columns = 0;
  bool are_plain = true, takes_any_parts = false;
  for (source_ = 0; source_ < std::max<int32_t>(1, std::ssize(config_.sources)); ++source_) {
    columns = std::max(columns, ranking_loss().columns(texts, examples));
    are_plain = are_plain && is_plain();
    takes_any_parts = takes_any_parts || takes_parts();
  }
  source_ = 0;
  if (ranks()) scores_ = arena.make(DType::kF32, {examples * columns});
  if (!are_plain) other_outputs_ = arena.make(DType::kF32, {examples, config_.num_outputs()});
  if (!takes_any_parts) return;
  make_all(arena, {&part_, &dpart_}, {sequences * config_.embedding_dimension()});
  lengths_ = arena.make(DType::kF32, {sequences});
}

Tensor GroupLoss::scores_for(const GroupInputs& inputs, const RankingLoss& ranking) const {
  const int64_t examples = inputs.examples();
  return as_rows(scores_, examples, ranking.columns(inputs.group, examples));
}

Tensor GroupLoss::compute(const StepContext& step, Tensor embeddings, Tensor dembeddings) {
  const BatchTensors& batch = step.batch;
  source_ = batch.source;
  GroupInputs inputs{.embeddings = embeddings,
                     .group = batch.sequences_per_example,
                     .has_loss = batch.labelled(),
                     .targets = batch.targets,
                     .weights = batch.weights,
                     .vectors = batch.text_vectors,
                     .scores = batch.text_scores};
  if (!config_.sources.empty() && learns_numbers(loss())) {  // its labels are one score a row
    inputs.targets = batch.text_scores;
  }
  if (step.training && workers_ != nullptr && workers_->size() > 1 && compares_rows(loss())) {
    return compute_with_all(inputs, step.state, dembeddings);
  }
  if (!embeddings) return {};
  return compute(inputs, step.training, step.state, dembeddings);
}

// What a rank tells the others: the texts of a row, its embeddings, for each of its rows the number
// and the weight, and what a guide says of its texts.
std::vector<std::byte> GroupLoss::message(const GroupInputs& own) const {
  if (!own.embeddings) return {};
  const auto rows = static_cast<size_t>(own.examples());
  const auto elements = static_cast<size_t>(own.embeddings.elements());
  const auto vectors = static_cast<size_t>(own.vectors ? own.vectors.elements() : 0);
  std::vector<std::byte> bytes((1 + elements + 2 * rows + vectors) * sizeof(float));
  auto* floats = reinterpret_cast<float*>(bytes.data());
  *floats++ = static_cast<float>(own.group);
  float* const targets = floats + elements;
  std::fill_n(targets, rows, 0.0f);
  std::fill_n(targets + rows, rows, 1.0f);
  copy_out(own.embeddings, floats);
  if (own.targets) copy_out(own.targets, targets);
  if (own.weights) copy_out(own.weights, targets + rows);
  if (own.vectors) copy_out(own.vectors, targets + 2 * rows);
  return bytes;
}

// The rows of the ranks, in their order, are the rows of the micro-batch, in its order.
Tensor GroupLoss::compute_with_all(const GroupInputs& own, StepState& state, Tensor dembeddings) {
  std::vector<std::vector<std::byte>> messages;
  {
    const ProfileScope scope(kernels_.profiler(), "waiting for other ranks");
    messages = gather_bytes(*workers_, message(own));
  }
  int64_t group = own.group;  // a rank without rows learns it from the others
  for (const std::vector<std::byte>& message : messages) {
    if (message.empty()) continue;
    group = static_cast<int64_t>(*reinterpret_cast<const float*>(message.data()));
  }
  const auto texts = static_cast<size_t>(group);
  const size_t embedding = texts * static_cast<size_t>(config_.embedding_dimension());
  const size_t vector = takes_vectors() ? texts * static_cast<size_t>(all_vectors_.columns()) : 0;
  size_t examples = 0, first = 0;
  bool has_weights = false;
  for (size_t rank = 0; rank < messages.size(); ++rank) {
    if (rank == static_cast<size_t>(workers_->rank())) first = examples;
    if (messages[rank].empty()) continue;
    const auto* const floats = reinterpret_cast<const float*>(messages[rank].data()) + 1;
    const size_t numbers = messages[rank].size() / sizeof(float) - 1;
    const size_t rows = numbers / (embedding + 2 + vector);
    assert((examples + rows) * texts <= static_cast<size_t>(all_.rows()));
    const float* const targets = floats + rows * embedding;
    std::copy_n(floats, rows * embedding, all_.f32() + examples * embedding);
    std::copy_n(targets, rows, all_targets_.f32() + examples);
    std::copy_n(targets + rows, rows, all_weights_.f32() + examples);
    if (vector > 0) {
      std::copy_n(targets + 2 * rows, rows * vector, all_vectors_.f32() + examples * vector);
    }
    has_weights = has_weights ||
                  std::any_of(targets + rows, targets + 2 * rows, [](float w) { return w != 1; });
    examples += rows;
  }
  messages.clear();
  const auto count = static_cast<int64_t>(examples);
  const Tensor dall = dall_.first(count * group);
  const GroupInputs inputs{.embeddings = all_.first(count * group),
                           .group = group,
                           .targets = learns_numbers(loss()) ? all_targets_.first(count) : Tensor(),
                           .weights = has_weights ? all_weights_.first(count) : Tensor(),
                           .vectors = vector > 0 ? all_vectors_.first(count * group) : Tensor()};
  StepState of_all;
  compute(inputs, /*trains=*/true, of_all, dall);
  if (workers_->rank() == 0) {  // the sums of all ranks are added up later
    state.loss_sum += of_all.loss_sum;
    state.examples += of_all.examples;
  }
  if (!own.embeddings) return {};
  const Tensor mine = dall.slice(static_cast<int64_t>(first) * group, own.embeddings.rows());
  copy_in(dembeddings, mine.data);
  return as_rows(outputs_, own.examples(), config_.num_outputs());
}

Tensor GroupLoss::compute(const GroupInputs& inputs, bool trains, StepState& state,
                          Tensor dembeddings) {
  const bool is_scored = !trains && inputs.has_loss;
  const int64_t shown = is_scored ? std::ssize(shown_sizes()) : 0;
  const Tensor outputs = as_rows(outputs_, inputs.examples(), config_.num_outputs() + shown);
  if (is_plain()) {  // one pass makes both
    if (ranks()) {
      const RankingLoss ranking = ranking_loss();
      kernels_.in_batch_negatives(inputs, ranking, state, scores_for(inputs, ranking), outputs,
                                  dembeddings);
    } else {
      kernels_.cosine_squared_error(inputs, state, outputs, dembeddings);
    }
    return outputs;
  }
  if (!trains) compare(inputs, outputs);
  if (!inputs.has_loss) return outputs;
  if (takes_parts()) {
    add_losses_of_parts(inputs, state, dembeddings);
  } else {
    add_loss(inputs, state, dembeddings);
  }
  return outputs;
}

GroupInputs GroupLoss::part_of(const GroupInputs& inputs, int64_t size) const {
  const int64_t rows = inputs.embeddings.rows();
  const Tensor part = as_rows(part_, rows, size);
  kernels_.unit_prefixes(inputs.embeddings, part, lengths_.first(rows));
  GroupInputs of_part = inputs;
  of_part.embeddings = part;
  return of_part;
}

void GroupLoss::compare(GroupInputs inputs, Tensor outputs) {
  if (outputs.columns() > config_.num_outputs()) return compare_sizes(inputs, outputs);
  inputs.has_loss = false;
  const int64_t size = objective().compared_size;
  if (size > 0) inputs = part_of(inputs, size);
  StepState unused;
  if (ranks()) {
    kernels_.in_batch_negatives(inputs, {}, unused, scores_for(inputs, {}), outputs, {});
  } else {
    kernels_.cosine_squared_error(inputs, unused, outputs, {});
  }
}

std::vector<int64_t> GroupLoss::shown_sizes() const {
  return ranks() ? std::vector<int64_t>()
                 : shorter_sizes(config_.similarity, config_.embedding_dimension());
}

// The cosines of the whole embeddings and of the shorter ones, a column for each.
void GroupLoss::compare_sizes(GroupInputs inputs, Tensor outputs) {
  inputs.has_loss = false;
  const int64_t examples = inputs.examples(), columns = outputs.columns();
  const Tensor cosines = as_rows(other_outputs_, examples, 1);
  StepState unused;
  const auto fill = [&](const GroupInputs& part, int64_t column) {
    kernels_.cosine_squared_error(part, unused, cosines, {});
    for (int64_t b = 0; b < examples; ++b) outputs.f32()[b * columns + column] = cosines.f32()[b];
  };
  fill(inputs, 0);
  int64_t column = 0;
  for (const int64_t size : shown_sizes()) fill(part_of(inputs, size), ++column);
}

void GroupLoss::add_loss(const GroupInputs& inputs, StepState& state, Tensor dembeddings) {
  const SimilarityObjective& objective = this->objective();
  const Tensor unused = other_outputs_.first(inputs.examples());
  const RankingLoss ranking = ranking_loss();
  switch (loss()) {
    case SimilarityLoss::kCosine:
      return kernels_.cosine_squared_error(inputs, state, as_rows(unused, inputs.examples(), 1),
                                           dembeddings);
    case SimilarityLoss::kInBatchNegatives:
    case SimilarityLoss::kSymmetric:
      return kernels_.in_batch_negatives(inputs, ranking, state, scores_for(inputs, ranking),
                                         unused, dembeddings);
    case SimilarityLoss::kTriplet:
      return kernels_.triplet_loss(inputs, objective, state, dembeddings);
    case SimilarityLoss::kMarginMse:
    case SimilarityLoss::kDistillKl:
      return kernels_.text_score_loss(inputs, loss(), objective, state, dembeddings);
    case SimilarityLoss::kEmbeddingMse:
    case SimilarityLoss::kEmbeddingCosine:
      return kernels_.embedding_loss(inputs, loss(), state, dembeddings);
    default:
      return kernels_.pair_loss(inputs, loss(), objective, state, dembeddings);
  }
}

// The weighted sum of the losses of all sizes. The examples count once.
void GroupLoss::add_losses_of_parts(const GroupInputs& inputs, StepState& state,
                                    Tensor dembeddings) {
  std::vector<NestedSize> sizes = objective().nested;
  if (sizes.empty()) {
    const int64_t compared = objective().compared_size;
    sizes = {{.size = compared > 0 ? compared : config_.embedding_dimension()}};
  }
  if (dembeddings) kernels_.zero(dembeddings);
  const int64_t rows = inputs.embeddings.rows();
  double examples = 0;
  for (const NestedSize& size : sizes) {
    assert(size.size <= config_.embedding_dimension());
    const GroupInputs part = part_of(inputs, size.size);
    const Tensor dpart = dembeddings ? as_rows(dpart_, rows, size.size) : Tensor();
    StepState of_part;
    add_loss(part, of_part, dpart);
    state.loss_sum += size.weight * of_part.loss_sum;
    examples = of_part.examples;
    if (!dembeddings) continue;
    kernels_.unit_prefixes_backward(dpart, part.embeddings, lengths_.first(rows), size.weight,
                                    dembeddings);
  }
  state.examples += examples;
}

}  // namespace berth
