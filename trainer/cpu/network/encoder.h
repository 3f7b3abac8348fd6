#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trainer/cpu/network/attention.h"
#include "trainer/cpu/network/context.h"
#include "trainer/cpu/network/layer_parts.h"
#include "trainer/cpu/network/network.h"
#include "trainer/cpu/network/positions.h"
#include "trainer/model/config.h"

namespace berth {

// The sum of word, position, token type and task type embeddings, layer normalization and dropout
// (Devlin et al. 2018, arXiv:1810.04805, section 3). Some architectures have no normalization.
// Factorised embeddings are then projected to the hidden size (Lan et al. 2019, arXiv:1909.11942,
// section 3.1).
class Embeddings {
 public:
  Embeddings(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, const BatchLimits& limits);
  void forward(const StepContext& step, Tensor y);    // y [T,H]
  void backward(const StepContext& step, Tensor dy);  // overwrites dy

 private:
  EmbeddingTables tables() const;
  EmbeddingGradients gradients() const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Parameter& word_;
  Parameter* position_ = nullptr;    // null: the model has no table of absolute positions
  Parameter* token_type_ = nullptr;  // null: the model has no token types
  Parameter* task_type_ = nullptr;   // likewise
  std::optional<LayerNorm> norm_;
  std::optional<Linear> projection_;
  Tensor sum_;                       // [T,E], with a norm
  Tensor normalized_, dnormalized_;  // [T,E], with a projection
};

// The second half of an encoder layer (Vaswani et al. 2017, arXiv:1706.03762, section 3.3):
//   y = layer_norm(residual + dropout(output(activation(intermediate(x)))))
// A gated layer has dropout(activation(a) * b) in place of the activation (Shazeer 2020,
// arXiv:2002.05202). a and b are the two halves of intermediate's output, or a is the output of a
// second dense layer, the gate. One product computes both.
class FeedForward {
 public:
  FeedForward(const ModelConfig& config, const LoraOptions& lora, int64_t layer,
              Parameters& parameters, Kernels& kernels);
  // Another layer with the parameters of `other`.
  FeedForward(const FeedForward& other, int64_t layer);

  // `sum_room` is the memory for the sums; null: among the layer's own activations.
  void allocate(Arena& arena, int64_t most_rows, const Tensor* sum_room);
  // x, residual and y [R,H] are rows of the tokens `selected` [R]; null: of all tokens. See
  // ResidualSum for the residual. x and y are operands.
  void forward(const StepContext& step, Tensor x, const Residual& residual, Tensor selected,
               Tensor y, const LayerScratch& scratch);
  Tensor sum(int64_t rows) const { return sum_.first(rows); }  // of the last forward pass
  // y of the last forward pass as a residual, and its values, the same to the bit.
  Residual output(int64_t rows) const { return norm_.residual(sum_.first(rows)); }
  void recompute_output(Tensor y);
  // x and selected are the arguments of forward. d holds dy and becomes dx. See ResidualSum for
  // dresidual [R,H].
  void backward(const StepContext& step, Tensor x, Tensor selected, Tensor d, Tensor dresidual,
                const LayerScratch& scratch);

 private:
  void activate(const StepContext& step, Tensor x, Tensor selected, Tensor activated,
                const LayerScratch& scratch);
  void activate_gated(const StepContext& step, Tensor x, Tensor selected, Tensor activated,
                      const LayerScratch& scratch);
  int64_t inner_size() const { return (config_.is_gated ? 2 : 1) * config_.intermediate_size; }
  Dropout inner_dropout(const StepContext& step, Tensor selected) const;
  Dropout output_dropout(const StepContext& step, Tensor selected) const;
  Dropout adapter_dropout(LayerPart part, Tensor selected) const;

  const ModelConfig& config_;
  int64_t layer_;
  Kernels& kernels_;
  DType operands_;                // see operand_dtype()
  Linear intermediate_, output_;  // the first includes the gate
  std::optional<LowRankAdapter> intermediate_adapter_, gate_adapter_, output_adapter_;
  LayerNorm norm_;
  Tensor pre_;  // [R,F], or [R,2F] of a gated one
  Tensor sum_;  // [R,H]
};

// The convolution that the larger DeBERTa-v2 models have beside their first layer (He et al. 2020,
// arXiv:2006.03654, and its published code). It mixes neighbouring tokens.
//   y = layer_norm(layer(x) + activation(dropout(convolution(x))))
class Convolution {
 public:
  Convolution(const ModelConfig& config, Parameters& parameters, Kernels& kernels);

  void allocate(Arena& arena, const BatchLimits& limits);
  // x is the input of the first layer, and layer_output is its output. Both are [T,H], and so is
  // the result, which is valid until the next forward.
  Tensor forward(const StepContext& step, Tensor x, Tensor layer_output);
  // d holds dy and becomes the gradient of layer_output.
  void backward(const StepContext& step, Tensor d, const LayerScratch& scratch);
  // Adds the gradient of x, which the last backward computed, to dx. To be called after the layer's
  // own backward has written dx.
  void add_input_gradient(Tensor dx);

 private:
  Dropout dropout(const StepContext& step) const;

  const ModelConfig& config_;
  Kernels& kernels_;
  Linear conv_;
  LayerNorm norm_;
  Tensor windows_;            // [T,H*S]
  Tensor pre_;                // [T,H], dropped, before the activation
  Tensor sum_, output_, dx_;  // [T,H]
};

// The encoder of BERT (Devlin et al. 2018, arXiv:1810.04805) and of the architectures that follow
// it: embeddings and L layers, which are normalized behind each of their halves (see ResidualSum).
// Pre-normalized layers may have a norm before the first one, too. Layers may share their
// parameters (Lan et al. 2019, arXiv:1909.11942). Borrows what it is made from. Not thread-safe.
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
    Tensor input{}, output{};  // [T,H], of the last forward, operands
    Tensor sum{};              // [T,H], pre-normalized: the sums, where layers recompute theirs
  };

  int64_t depth_of(size_t i) const;
  bool reads_layer_before(size_t i) const;
  bool is_last(size_t i) const { return i + 1 == layers_.size(); }
  Tensor selected_of(const StepContext& step, size_t i) const;
  Residual residual_of(const StepContext& step, size_t i) const;
  Tensor forward_layer(const StepContext& step, size_t i);
  void restore_layer(const StepContext& step, size_t i);

  size_t kept_bytes(int64_t depth) const;
  void allocate_layers(Arena& arena, const BatchLimits& limits, int64_t most_selected);
  void allocate_scratch(Arena& arena, int64_t tokens, int64_t most_selected);

  const ModelConfig& config_;
  Parameters& parameters_;
  Kernels& kernels_;
  DType operands_;  // see operand_dtype()
  Embeddings embeddings_;
  std::unique_ptr<RelativePositions> positions_;  // DeBERTa's
  std::unique_ptr<RotaryPositions> rotary_;       // ModernBERT's
  std::unique_ptr<PositionBias> bias_;            // MPNet's
  std::vector<Layer> layers_;
  std::unique_ptr<Convolution> convolution_;  // DeBERTa-v2-xlarge's
  Tensor embedded_;                           // [T,H]
  std::optional<LayerNorm> input_norm_;       // of the first layer's input
  Tensor normalized_;                         // [T,H], that input
  // Without recomputation, all layers but the last write their outputs to the one `hidden_`, and
  // their attention writes to the one `middle_`. Backward normalizes the sums again to restore
  // both. `last_` is fp32, because heads read it.
  Tensor hidden_, middle_, last_;  // [T,H]
  // The gradient of the last layer's input, if the layer selects tokens.
  Tensor spread_;  // [T,H]
  // Pre-normalized: the gradient of the residual, for all tokens and for the tokens that the last
  // layer selects.
  SelfAttention::SpreadGradient dresidual_;
  LayerScratch scratch_;
  bool recomputes_ = false;   // layers share the memory of all activations but their outputs
  size_t first_trained_ = 0;  // the first layer with parameters that train
  bool embeddings_train_ = false;
};

}  // namespace berth
