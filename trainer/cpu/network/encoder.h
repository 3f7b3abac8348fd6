#pragma once

#include <memory>
#include <vector>

#include "trainer/cpu/network/attention.h"
#include "trainer/cpu/network/convolution.h"
#include "trainer/cpu/network/embeddings.h"
#include "trainer/cpu/network/feed_forward.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/network/shared_positions.h"

namespace berth {

// The encoder of BERT (Devlin et al. 2018, arXiv:1810.04805) and of the architectures that follow
// it: embeddings and L layers, which are normalized behind each of their halves (see ResidualSum).
// Layers may share their parameters (Lan et al. 2019,
// arXiv:1909.11942). Borrows what it is made from. Not thread-safe.
class Encoder {
 public:
  Encoder(const ModelConfig& config, const LoraOptions& lora, Parameters& parameters,
          Kernels& kernels);

  // `most_selected` is the largest number of selected tokens in a batch; 0 if `selected` is always
  // null.
  void allocate(Arena& arena, const BatchLimits& limits, int64_t most_selected);
  // Returns the last hidden states [R,H] of the tokens that the batch selects; the last layer
  // computes no others. The result is valid until backward or the next forward.
  Tensor forward(const StepContext& step);
  // d [R,H] holds the gradient of the last hidden states, and is overwritten. Stops above the
  // layers that do not train. `are_final` may be empty.
  void backward(const StepContext& step, Tensor d, const GradientsFinal& are_final);

  // ParameterSpec::depth of the last layer's parameters.
  int64_t depth() const { return depth_of(layers_.size() - 1); }

 private:
  struct Layer {
    SelfAttention attention;
    FeedForward feed_forward;
    bool shares;               // whether it has the parameters of the layer before
    Tensor input{}, output{};  // [T,H], of the last forward
    Tensor sum{};              // [T,H], pre-normalized: the sums, where layers recompute theirs
  };

  int64_t depth_of(size_t i) const;
  bool reads_layer_before(size_t i) const;
  bool is_last(size_t i) const { return i + 1 == layers_.size(); }
  Tensor selected_of(const StepContext& step, size_t i) const;
  Tensor residual_of(const StepContext& step, size_t i) const;
  Tensor forward_layer(const StepContext& step, size_t i);
  void restore_layer(const StepContext& step, size_t i);

  size_t kept_bytes(int64_t depth) const;
  void allocate_layers(Arena& arena, const BatchLimits& limits, int64_t most_selected);

  const ModelConfig& config_;
  Parameters& parameters_;
  Kernels& kernels_;
  Embeddings embeddings_;
  std::unique_ptr<RelativePositions> positions_;  // DeBERTa's
  std::unique_ptr<RotaryPositions> rotary_;       // ModernBERT's
  std::unique_ptr<PositionBias> bias_;            // MPNet's
  std::vector<Layer> layers_;
  std::unique_ptr<Convolution> convolution_;  // DeBERTa-v2-xlarge's
  Tensor embedded_;                           // [T,H]
  // Without recomputation, all layers write their outputs to the one `hidden_`, and their attention
  // writes to the one `middle_`. Backward normalizes the sums again to restore both.
  Tensor hidden_, middle_;  // [T,H]
  Tensor spread_;           // [T,H], the gradient of the last layer's input, if the layer selects
                            // tokens
  // Pre-normalized: the gradient of the residual, for all tokens and for the tokens that the last
  // layer selects.
  SelfAttention::SpreadGradient dresidual_;
  LayerScratch scratch_;
  bool recomputes_ = false;   // layers share the memory of all activations but their outputs
  size_t first_trained_ = 0;  // the first layer with parameters that train
  bool embeddings_train_ = false;
};

}  // namespace berth
