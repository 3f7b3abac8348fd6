#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "trainer/cpu/gradient_exchange.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/cpu/optimizer_shards.h"
#include "trainer/cpu/parameters.h"
#include "trainer/engine/device.h"

namespace berth {

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
  std::deque<UpdateOutcome> outcomes_;  // Of updates that were started and not collected.
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
