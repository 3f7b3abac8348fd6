#pragma once

#include <memory>
#include <vector>

#include "trainer/cpu/network/attention.h"
#include "trainer/cpu/network/convolution.h"
#include "trainer/cpu/network/embeddings.h"
#include "trainer/cpu/network/feed_forward.h"
#include "trainer/cpu/network/relative_positions.h"

namespace berth {

// BERT's encoder (Devlin et al. 2018, arXiv:1810.04805) and those of its kin: embeddings and L
// layers, post-normalized, which may share their parameters (Lan et al. 2019, arXiv:1909.11942).
class Encoder {
 public:
  Encoder(const ModelConfig& config, const LoraOptions& lora, Parameters& parameters,
          Kernels& kernels);

  // `most_picked`: the longest that batches' `picked` gets; 0: that is null.
  void allocate(Arena& arena, const BatchLimits& limits, int64_t most_picked);
  // Returns the last hidden states [R,H], of the tokens that the batch has picked: the last layer
  // computes no others. Valid until backward, or the next forward.
  Tensor forward(const StepContext& step);
  // d [R,H] holds their gradient and is used up. Goes no farther down than what trains.
  void backward(const StepContext& step, Tensor d);

 private:
  struct Layer {
    SelfAttention attention;
    FeedForward feed_forward;
    bool shares;               // the parameters of the layer before
    Tensor input{}, output{};  // [T,H], of the last forward
  };

  int64_t depth_of(size_t i) const;
  bool reads_layer_before(size_t i) const;
  bool is_last(size_t i) const { return i + 1 == layers_.size(); }
  Tensor picked_of(const StepContext& step, size_t i) const;
  Tensor forward_layer(const StepContext& step, size_t i);
  void restore_layer(const StepContext& step, size_t i);

  void allocate_layers(Arena& arena, const BatchLimits& limits, int64_t most_picked);

  const ModelConfig& config_;
  Parameters& parameters_;
  Kernels& kernels_;
  Embeddings embeddings_;
  std::unique_ptr<RelativePositions> positions_;  // DeBERTa's
  std::vector<Layer> layers_;
  std::unique_ptr<Convolution> convolution_;  // DeBERTa-v2-xlarge's
  Tensor embedded_;                           // [T,H]
  // Without recomputation all layers' outputs are the one `hidden_`: what backward wants of it, and
  // of `middle_`, what attention made of a layer's input, is normalized again.
  Tensor hidden_, middle_;  // [T,H]
  Tensor spread_;           // [T,H], the gradient of the last layer's input, where it has picked
  LayerScratch scratch_;
  bool recomputes_ = false;   // layers share the memory of all but their outputs
  size_t first_trained_ = 0;  // the first layer that has something to learn
  bool embeddings_train_ = false;
};

}  // namespace berth
