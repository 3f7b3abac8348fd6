#pragma once

#include <memory>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/parameters.h"
#include "trainer/distributed/communicator.h"
#include "trainer/model/config.h"

namespace berth {

// Computes logits from the R last hidden states that the task reads and, for a labelled batch, the
// loss. Borrows what it is made from.
class Head {
 public:
  virtual ~Head() = default;

  // The tokens whose hidden states the head reads [R], which increase; null: all tokens.
  // most_selected() is the largest R of a batch inside the limits; 0 where selected() is always
  // null.
  virtual Tensor selected(const BatchTensors& batch) const = 0;
  virtual int64_t most_selected(const BatchLimits& limits) const = 0;

  virtual void allocate(Arena& arena, const BatchLimits& limits) = 0;
  // hidden [R,H] must not change until backward. Returns the logits, or the values that a head has
  // in their place. They are valid until the next forward. Adds the loss of a labelled batch to the
  // state. In training, backward must follow: forward may have added to gradients.
  virtual Tensor forward(const StepContext& step, Tensor hidden) = 0;
  // To be called after a forward of a labelled batch in training. Overwrites dhidden [R,H].
  virtual void backward(const StepContext& step, Tensor dhidden) = 0;
  // The ids that the last forward drew for masked tokens, int32 [M]; null if it draws none.
  virtual Tensor samples() const { return {}; }
};

// The head of the config's task. `workers` are the ranks that share each micro-batch, or null.
std::unique_ptr<Head> make_head(const ModelConfig& config, Parameters& parameters, Kernels& kernels,
                                Communicator* workers = nullptr);

}  // namespace berth
