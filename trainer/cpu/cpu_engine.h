#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "trainer/cpu/cpu_tensors.h"
#include "trainer/cpu/gradient_exchange.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/optimizer.h"
#include "trainer/engine/device.h"

namespace berth {

// The engine of this machine's CPUs: the network over our own kernels. An update is done when
// start_update() returns. Borrows the kernels.
class CpuEngine final : public Engine {
 public:
  CpuEngine(const EngineInfo& info, const EngineOptions& options, Kernels& kernels);

  const EngineInfo& info() const override { return info_; }
  ParameterTensors& tensors(StateTensors which) override;
  void tensors_written() override;
  void clear_moments() override;
  bool start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                    const std::atomic<bool>& stop) override;
  UpdateOutcome collect_update() override;
  std::vector<float> infer(const PackedBatch& batch, LossSum& loss) override;

 private:
  Network& network();
  void backward(bool is_last);

  const EngineInfo info_;
  const EngineOptions options_;
  Kernels& kernels_;
  Parameters parameters_;
  CpuTensors values_;
  std::optional<Optimizer> optimizer_;  // Absent where the engine only infers.
  std::optional<CpuTensors> first_moments_, second_moments_;
  // Made when the parameters are first there, so that weights are packed once.
  std::unique_ptr<Network> network_;
  std::optional<GradientExchange> exchange_;  // Absent where the engine trains alone.
  StepState step_;
  std::deque<UpdateOutcome> outcomes_;  // Of updates that were started and not collected.
};

// The most tokens of an update that is one batch, whose gradients need not be summed over several
// batches or ranks; else 0. Parameters choose by it how gradients are held.
int64_t one_batch_tokens(const EngineOptions& options);

}  // namespace berth
