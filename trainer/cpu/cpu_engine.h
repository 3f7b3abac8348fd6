#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/cpu/optimizer_shards.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/gradient_sums.h"
#include "trainer/engine/device.h"

namespace berth {

// Sums the gradients of an update over the ranks of a job, beside the backward pass. It hands the
// gradients of a layer to a GradientReducer, or to ShardedGradients, as soon as the pass has left
// that layer. No gradient may have the form of factors. Borrows all of its parts. Not thread-safe.
class GradientExchange {
 public:
  // `shards` is null where every rank keeps the whole optimizer, and so needs all sums.
  GradientExchange(Communicator& ranks, DType wire_dtype, Parameters& parameters,
                   const OptimizerShards* shards = nullptr);

  // Begins an update: adds the other ranks' `weights` to this rank's. Returns false if one of the
  // ranks stops, so that none computes the update. All ranks have the same number of weights.
  bool begin_update(bool stops, std::span<double> weights);
  // The gradients of parameters at `depth` and deeper are final. Depths of one update decrease.
  void are_final(int64_t depth);
  // All gradients are final. Returns when the gradients, or only the ones that this rank owns, are
  // the sums over all ranks. Records the exchange where a profiler is on; null: there is none.
  void finish(Profiler* profiler);
  // After that: replaces the state's sums by the sums over all ranks, in the order of the ranks. If
  // the optimizer is sharded, the squares are among them. Rank 0 logs the rank for which the others
  // wait.
  void sum(StepState& state);
  // After the update: fetches the values that other ranks have updated, if there are shards.
  void gather_values();

 private:
  void hand_over(size_t index);
  void notice_slow_rank(std::span<const double> seconds);

  Communicator& ranks_;
  Parameters& parameters_;
  std::vector<size_t> deepest_first_;  // the parameters that train, by depth
  size_t handed_over_ = 0;             // of them, in this update
  double began_s_;                     // when this rank began to compute the update
  double computed_s_ = 0;              // how long it computed
  SlowRank slow_;
  // One of the two.
  std::optional<GradientReducer> reducer_;
  std::optional<ShardedGradients> sharded_;
};

// The engine of this machine's CPUs: the network over our own kernels. An update is done when
// start_update() returns. Borrows the kernels.
class CpuEngine final : public Engine {
 public:
  CpuEngine(const EngineInfo& info, const EngineOptions& options, Kernels& kernels);

  const EngineInfo& info() const override { return info_; }
  ParameterTensors& tensors(StateTensors which) override;
  bool shards_moments() const override { return shards_.has_value(); }
  void tensors_written() override;
  void clear_moments() override;
  bool start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                    const std::atomic<bool>& stop) override;
  UpdateOutcome collect_update() override;
  std::vector<float> infer(const PackedBatch& batch, LossSum& loss) override;

 private:
  Network& network();
  void backward(bool is_last);
  void update();
  bool take_moments_written();

  const EngineInfo info_;
  const EngineOptions options_;
  Kernels& kernels_;
  const std::optional<OptimizerShards> shards_;  // Absent where this rank has the whole optimizer.
  Parameters parameters_;
  CpuTensors values_;
  std::optional<Optimizer> optimizer_;  // Absent where the engine only infers.
  std::optional<CpuTensors> first_moments_, second_moments_;  // Where there are no shards.
  std::optional<ShardedMoments> sharded_moments_;
  // Made when the parameters are first there, so that weights are packed once.
  std::unique_ptr<Network> network_;
  std::optional<GradientExchange> exchange_;  // Absent where the engine trains alone.
  StepState step_;
  std::deque<UpdateOutcome> outcomes_;  // The outcomes of updates that were started and not
                                        // collected.
};

// The rule by which the Parameters of an engine with these options choose the form of gradients.
GradientRule gradient_rule(const EngineOptions& options, DType product_dtype);
// The shards of an engine with these options, whose table is `specs`. nullopt: it has none.
std::optional<OptimizerShards> shards_of(const EngineOptions& options,
                                         std::span<const ParameterSpec> specs);
// The elements of each moment that a rank holds, as Parameters takes it.
std::optional<int64_t> moment_elements(const std::optional<OptimizerShards>& shards, int64_t rank);

// The memory that a CPU engine with these options takes at most. It adds up the parameter table,
// the network's own allocation code over parameters without memory, and the kernels' need; nothing
// is allocated.
EngineMemory engine_memory(const EngineOptions& options, Kernels& kernels);

}  // namespace berth
