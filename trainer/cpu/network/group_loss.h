#pragma once

#include <vector>

#include "trainer/cpu/network/context.h"
#include "trainer/distributed/communicator.h"
#include "trainer/model/config.h"

namespace berth {

// Room for what another model says of the texts of a batch: its vectors and its scores. Null where
// the loss needs none.
class TextTargets {
 public:
  void allocate(const ModelConfig& config, const BatchLimits& limits, Arena& arena);
  // Copies what `batch` has there.
  void upload(const PackedBatch& batch, BatchTensors& tensors) const;

 private:
  Tensor vectors_, scores_;  // [B*G,V], and at most [B*G]
};

// The loss of a batch whose examples are texts that are compared, from their embeddings:
// ModelConfig::similarity says which. Borrows the config, the kernels and the ranks.
class GroupLoss {
 public:
  // `workers` are the ranks that share each micro-batch, or null. Where the loss compares rows with
  // each other, compute() in training compares the rows of all ranks, and is a collective: every
  // rank computes the loss of all rows, keeps the gradients of its own rows, and rank 0 counts it.
  GroupLoss(const ModelConfig& config, Kernels& kernels, Communicator* workers = nullptr);

  void allocate(Arena& arena, const BatchLimits& limits);

  // embeddings [B*G,H]; a rank may have none, which is null. Adds the loss of a labelled batch to
  // the state, and overwrites dembeddings [B*G,H], which is null in evaluation. Returns values
  // beside the loss, as Head::forward does: [B,1] the cosine of the two texts, or [B,2] as
  // Kernels::in_batch_negatives() says. Behind the former stand the cosines of shorter embeddings,
  // for each of shorter_sizes(), where a labelled batch is evaluated. In training the values mean
  // nothing where the loss does not need them.
  Tensor compute(const StepContext& step, Tensor embeddings, Tensor dembeddings);

 private:
  // Of the source of the batch that is computed.
  const SimilarityObjective& objective() const {
    return config_.sources.empty() ? config_.similarity
                                   : config_.sources[static_cast<size_t>(source_)];
  }
  bool ranks() const { return traits(config_.task).loss == LossKind::kInBatchNegatives; }
  SimilarityLoss loss() const;
  // Whether the loss needs embeddings of length 1, or parts of them.
  bool takes_parts() const;
  // Whether batches hold vectors of another model: of several sources, the first one has them.
  bool takes_vectors() const;
  // Whether it is the usual loss of the task, whose kernel makes the outputs, too.
  bool is_plain() const;
  RankingLoss ranking_loss() const;
  Tensor scores_for(const GroupInputs& inputs, const RankingLoss& ranking) const;
  Tensor compute(const GroupInputs& inputs, bool trains, StepState& state, Tensor dembeddings);
  Tensor compute_with_all(const GroupInputs& own, StepState& state, Tensor dembeddings);
  std::vector<std::byte> message(const GroupInputs& own) const;
  // Sets `outputs` alone, and adds no loss.
  void compare(GroupInputs inputs, Tensor outputs);
  void compare_sizes(GroupInputs inputs, Tensor outputs);
  // The sizes whose cosines stand in the outputs of a labelled evaluation.
  std::vector<int64_t> shown_sizes() const;
  void add_loss(const GroupInputs& inputs, StepState& state, Tensor dembeddings);
  void add_losses_of_parts(const GroupInputs& inputs, StepState& state, Tensor dembeddings);
  GroupInputs part_of(const GroupInputs& inputs, int64_t size) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Communicator* const workers_;
  int32_t source_ = 0;
  Tensor outputs_;        // [B*C]
  Tensor other_outputs_;  // [B,C], which nobody reads; null where is_plain()
  Tensor scores_;  // [B*columns], as RankingLoss has columns; null where the task compares no texts
                   // of different rows
  Tensor part_, dpart_;  // [B*G*H], of the longest part; null where no parts are taken
  Tensor lengths_;       // [B*G]
  // Of the rows of all ranks; null where there is one rank.
  Tensor all_, dall_;                 // [B*G,H]
  Tensor all_targets_, all_weights_;  // [B]
  Tensor all_vectors_;                // [B*G,V]; null without a guide
};

}  // namespace berth
