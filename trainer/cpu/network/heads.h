#pragma once

#include <memory>

#include "trainer/cpu/network/context.h"
#include "trainer/cpu/parameters.h"
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

// The head of tasks on sequences (classes, scores or sets of classes). It reads the first token of
// each sequence: logits [B,C] = classifier(dropout(activation(dense(hidden[first])))). These are
// BERT's pooler and classifier, or the layers that the architecture has in their place.
std::unique_ptr<Head> make_sequence_head(const ModelConfig& config, Parameters& parameters,
                                         Kernels& kernels);

// The head of tasks on tokens (classes, where answers start and end, or a teacher's hidden states):
// logits [T,C] = classifier(dropout(hidden)). A teacher's states have no dropout: the classifier is
// the linear map of TinyBERT (Jiao et al. 2020, arXiv:1909.10351, equation 8), with a bias as in
// its code (fit_dense). The loss of a token is the squared error averaged over the teacher's hidden
// size. The loss of an update is the mean over all tokens, special ones included. TinyBERT's code
// (torch.nn.MSELoss) and MobileBERT's feature map transfer (Sun et al. 2020, arXiv:2004.02984) have
// the same mean over tokens and dimensions: the loss then depends neither on the teacher's size nor
// on the length of texts.
std::unique_ptr<Head> make_token_head(const ModelConfig& config, Parameters& parameters,
                                      Kernels& kernels);

// The head of masked language models. It reads the M masked tokens, whose logits [M,V] are
// norm(activation(dense(hidden))) word^T + bias. `word` are the word embeddings of the encoder
// (Press and Wolf 2017, arXiv:1608.05859). The logits exist in tiles only, so forward takes a
// labelled batch and returns [M,2]: the loss of each token and the id that the model predicts. A
// generator's head also draws an id for each token (samples()); the draws of evaluation are the
// same whatever the seed.
std::unique_ptr<Head> make_masked_lm_head(const ModelConfig& config, Parameters& parameters,
                                          Kernels& kernels);

// The head of ELECTRA's discriminator (Clark et al. 2020, arXiv:2003.10555). It reads every token:
// logits [T,1] = prediction(activation(dense(hidden))), which are positive if it predicts that the
// token was replaced. It has no dropout.
std::unique_ptr<Head> make_detection_head(const ModelConfig& config, Parameters& parameters,
                                          Kernels& kernels);

// The head of text embeddings. The logits [B,H] are the embedding of each sequence, by the config's
// pooling. It has no parameters and no backward pass.
std::unique_ptr<Head> make_pooled_head(const ModelConfig& config, Kernels& kernels);

// The head of tasks that compare the embeddings of the texts of a row of data: G sequences of the
// batch, which has B of such groups. The logits are values beside the loss: [B,1] or [B,2], as
// Kernels::cosine_squared_error() and in_batch_negatives() say. It has no parameters.
std::unique_ptr<Head> make_group_head(const ModelConfig& config, Kernels& kernels);

// The head of a teacher's hidden states. It reads every token: the logits [T,H] are the hidden
// states themselves. It has no parameters and no backward pass.
std::unique_ptr<Head> make_state_head();

// The head of the config's task.
std::unique_ptr<Head> make_head(const ModelConfig& config, Parameters& parameters,
                                Kernels& kernels);

}  // namespace berth
