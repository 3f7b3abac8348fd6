#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "storage/base/error.h"
#include "trainer/engine/device.h"
#include "trainer/xla/layout/laid_out_batch.h"
#include "trainer/xla/xla_programs.h"
#include "trainer/xla/xla_tensors.h"

namespace berth {

// The engine of a PJRT plugin's devices. Its state is in their memory, in buffers that each update
// donates to its successor. start_update() lays the batch out, and starts its upload and the
// programs. It does not wait for them, so a batch is laid out while the update before it runs.
// Borrows replicas and cache.
//
// With several hosts, the engine of each is given the same whole updates. It lays them out for the
// devices of all hosts, and computes the parts of its own devices, as JAX's processes do. The
// programs add over all devices. Each host infers alone, from batches of its own.
class XlaEngine final : public Engine {
 public:
  // Throws kMemory where the state does not fit. `profiler`, which may change while the engine
  // lives, records what the host does and how long it waits for the devices; null: nothing does.
  XlaEngine(const EngineInfo& info, const EngineOptions& options, const XlaReplicas& replicas,
            const ExecutableCache& cache, DropoutGenerator generator, Profiler* const& profiler);
  ~XlaEngine() override;

  const EngineInfo& info() const override { return info_; }
  ParameterTensors& tensors(StateTensors which) override;
  void tensors_written() override;
  void clear_moments() override;
  bool start_update(std::span<const PackedBatch> micro_batches, const UpdateInputs& inputs,
                    const std::atomic<bool>& stop) override;
  UpdateOutcome collect_update() override;
  double compile_seconds() const override { return programs_.compile_seconds(); }
  std::vector<float> infer(const PackedBatch& batch, LossSum& loss) override;

 private:
  struct Work;

  std::unique_ptr<Work> begin_work(const UpdateInputs& inputs) const;
  // Starts a program on a batch, which is laid out here, or on none. Takes the outputs that replace
  // state, and returns the others, by replica.
  std::vector<std::vector<PjrtBuffer>> start(XlaPrograms::Kind kind, const PackedBatch* batch,
                                             Work& work);
  const PjrtBuffer* upload(const HostTensor& tensor, size_t replica, Work& work) const;
  Error explained(const Error& error) const;

  const EngineInfo info_;
  const EngineOptions options_;
  const XlaReplicas& replicas_;
  // For programs on all hosts' devices, and for those on the devices here.
  const std::vector<BatchShape> shapes_, local_shapes_;
  Profiler* const& profiler_;
  XlaPrograms programs_;
  XlaTensors values_;
  std::optional<XlaTensors> first_moments_, second_moments_;  // Absent where it only infers.
  // Sums over the micro-batches of an update: the sums of the gradients, and as the last tensor the
  // sums of losses and weights. Each replica has its own. Absent where every update is one
  // micro-batch.
  std::optional<XlaTensors> gradients_;
  std::deque<std::unique_ptr<Work>> started_;  // updates that were not collected
};

}  // namespace berth
