#pragma once

#include <memory>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/parameters.h"
#include "trainer/model/config.h"

namespace berth {

// What turns the encoder's last hidden states into logits and, of a labelled batch, into a loss:
// the R of them that it reads. Borrows what it was made from.
class Head {
 public:
  virtual ~Head() = default;

  // The tokens whose hidden states it reads [R], increasing; null: all. And the most there are of
  // them in a batch of the limits; 0: they are never picked.
  virtual Tensor picked(const BatchTensors& batch) const = 0;
  virtual int64_t most_picked(const BatchLimits& limits) const = 0;

  virtual void allocate(Arena& arena, const BatchLimits& limits) = 0;
  // hidden [R,H] stays as it is until backward. Returns the logits, valid until the next forward. A
  // labelled batch adds its loss to the state.
  virtual Tensor forward(const StepContext& step, Tensor hidden) = 0;
  // After a labelled forward in training. Overwrites dhidden [R,H].
  virtual void backward(const StepContext& step, Tensor dhidden) = 0;
};

// Of the first token of each sequence: logits [B,C] =
// classifier(dropout(activation(dense(hidden[first])))), as BERT's pooler and classifier or what
// the architecture has in their place. Classes, scores or sets of classes, as the task is.
std::unique_ptr<Head> make_sequence_head(const ModelConfig& config, Parameters& parameters,
                                         Kernels& kernels);

// Of every token: logits [T,C] = classifier(dropout(hidden)); classes, or where answers start and
// end.
std::unique_ptr<Head> make_token_head(const ModelConfig& config, Parameters& parameters,
                                      Kernels& kernels);

// Of the M masked tokens: logits [M,V] = norm(activation(dense(hidden))) word^T + bias, with the
// encoder's word embeddings (Press and Wolf 2017, arXiv:1608.05859).
std::unique_ptr<Head> make_masked_lm_head(const ModelConfig& config, Parameters& parameters,
                                          Kernels& kernels);

// The one of the config's task.
std::unique_ptr<Head> make_head(const ModelConfig& config, Parameters& parameters,
                                Kernels& kernels);

}  // namespace berth
