#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/communicator.h"
#include "trainer/model/batch.h"
#include "trainer/model/config.h"
#include "trainer/model/lora.h"
#include "trainer/model/update.h"

namespace berth {

// kTraining applies dropout and saves activations for backward; kEvaluation does neither.
enum class Phase { kTraining, kEvaluation };

// Called during backward: the gradients of all parameters at this ParameterSpec::depth and deeper
// are complete for the batch, and backward does not change them any more. Depths decrease.
using GradientsFinal = std::function<void(int64_t depth)>;

// The network of an engine, over packed batches: a model, or several models that learn together.
// Borrows config, parameters and kernels. Not thread-safe.
class Network {
 public:
  virtual ~Network() = default;

  // For a network whose loss is a sum of means: the sum of the weights of each mean over these
  // micro-batches. The sums of all ranks can be added. For other networks empty.
  virtual std::vector<double> loss_weights(std::span<const PackedBatch>) const { return {}; }
  // Called before the first micro-batch of an update, with loss_weights() of all of it.
  virtual void begin_update(std::span<const double>) {}
  // Adds the loss of a labelled batch to the state. A batch without sequences is the share of a
  // rank that has none of a micro-batch. The batch must lie inside the limits, and its labels must
  // be of the config's task. In training, it may already add to gradients. Throws kBadData where
  // the embeddings lack an id.
  virtual void forward(const PackedBatch& batch, StepState& state, Phase phase) = 0;
  // Computes the gradients of the last forward's batch, which must have been labelled and in
  // kTraining. `are_final` may be empty, and need not be called.
  virtual void backward(StepState& state, const GradientsFinal& are_final) = 0;
  void backward(StepState& state) { backward(state, {}); }

  // The outputs of the last forward, as Engine::infer() describes them: logits, or the embeddings
  // of a batch that has one text for each example.
  virtual std::vector<float> outputs() const = 0;
};

// The network of the config's task. `lora` is what the parameter table was made with. `workers` are
// the ranks that share each micro-batch, or null. If there are several, and the loss compares texts
// of different ranks, forward in kTraining is a collective. Throws kMemory where the activations of
// a batch of `limits` do not fit.
std::unique_ptr<Network> make_network(const ModelConfig& config, const BatchLimits& limits,
                                      Parameters& parameters, Kernels& kernels, LossOptions loss,
                                      const LoraOptions& lora, Communicator* workers = nullptr);

// The bytes of its activations, without their memory. `planned` is a plan of the parameters, and
// has the handles of all layers afterwards.
size_t planned_network_bytes(const ModelConfig& config, const BatchLimits& limits,
                             Parameters& planned, Kernels& kernels, const LoraOptions& lora);

}  // namespace berth
