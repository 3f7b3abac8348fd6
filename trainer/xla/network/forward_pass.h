#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "storage/base/dtype.h"
#include "trainer/model/activation.h"
#include "trainer/model/config.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/lora.h"
#include "trainer/model/parameter_table.h"
#include "trainer/xla/network/batch_inputs.h"
#include "trainer/xla/network/dropout_masks.h"
#include "trainer/xla/stablehlo/operations.h"

// The network as a function of its parameters and a micro-batch. Only forward passes are written
// here; reverse mode derives the gradients.
//
// Shape letters: R rows of S tokens, T = R S tokens, B sequences, P selected tokens, H hidden, A
// heads, D = H/A. F feed-forward, E embedding, V vocabulary, C outputs. Activations are f32 [T,H]
// unless a comment says otherwise.
namespace berth {

// What all blocks are given.
struct ForwardPass {
  const ModelConfig& config;
  const LoraOptions& lora;
  DType product_dtype;
  std::map<std::string, Value> parameters;  // by name
  const BatchInputs& batch;
  std::optional<DropoutMasks> masks{};  // empty in inference: nothing is dropped
  Value position_bias{};  // what encode() has all layers add to scaled scores, [A,S,S]; or empty

  Graph& graph() const { return batch.input_ids.graph(); }
  Value parameter(const std::string& name) const;  // throws kInternal if it is missing
  bool has(const std::string& name) const { return parameters.contains(name); }

  ElementType product_element() const;
  Value rounded(Value x) const { return convert(x, product_element()); }  // to product_dtype
  // x, f32, rounded to product_dtype, in which it is kept until the gradients are computed.
  Value kept(Value x) const { return convert(rounded(x), ElementType::kF32); }
  // A product whose factors and result are rounded to product_dtype; f32.
  Value rounded_dot(Value x, Value y, const stablehlo::DotDims& dims) const;
  // y [N,M] = x [N,K] w^T, w [M,K], rounded_dot() if M is at least 16.
  Value product(Value x, Value w) const;
  // y = x w^T + b with the parameters NAME.weight, of which all but the first dimension are joined,
  // and, if there is one, NAME.bias.
  Value linear(Value x, const std::string& name) const;
  // Layer normalization over the last dimension (Ba et al. 2016, arXiv:1607.06450), with or without
  // NAME.bias.
  Value layer_norm(Value x, const std::string& name) const;
  // Dropout of the rows of x [N,K], whose numbers are `rows`, u32 [N].
  Value dropout(Value x, double p, uint32_t site, Value rows);
  // linear() of a dense layer of encoder layer `layer`, with its adapter (Hu et al. 2021,
  // arXiv:2106.09685) if it has one: + alpha / rank * dropout(x) A^T B^T.
  Value adapted_linear(Value x, const std::string& name, int64_t layer, LayerPart part, Value rows);
  // y [N,M] = what the adapter of such a layer, if it has one, adds to its output `y`.
  Value add_adapter(Value y, Value x, int64_t layer, LayerPart part, uint32_t site, Value rows);
};

Value activate(Value x, Activation activation);

// x + offsets [K] in each of the rows [N,K]; x times factors.
Value add_to_rows(Value x, Value offsets);
Value multiply_rows(Value x, Value factors);

// The rows of tokens [T] with these numbers, u32 [T].
Value token_rows(const ForwardPass& pass);

// ---- The blocks, in the order of the network ----------------------------------------------------

// Sums of embeddings, normalized: [T,H].
Value embed(ForwardPass& pass);

// The rows of DeBERTa's table of relative positions, normalized: [P,H].
Value relative_positions(const ForwardPass& pass);
// Scores [R,A,S,S] between tokens and relative positions, c2p + p2c of disentangled attention (He
// et al. 2020, arXiv:2006.03654). q and k are [R,A,S,D].
Value relative_scores(ForwardPass& pass, int64_t layer, Value positions, Value q, Value k);

// MPNet's biases of scores by distance: [A,S,S].
Value position_bias(const ForwardPass& pass);

// The convolution beside the first layer: norm(layer_output + activation(dropout(conv(x)))).
Value convolve(ForwardPass& pass, Value x, Value layer_output);

// q or k [R,A,S,D], turned by the rotary positions of the layer (Su et al. 2021, arXiv:2104.09864).
Value rotate(const ForwardPass& pass, int64_t layer, Value x);

// Self-attention of every token inside its sequence, before the output's dense layer: [T,H].
// `positions` is empty where there are no relative ones.
Value attend(ForwardPass& pass, int64_t layer, Value x, Value positions);

// The encoder's last hidden states of the tokens that the head reads: [P,H]. These are the first
// ones of sequences, the masked ones, or all. If `recomputes`, each layer is a part of the graph.
Value encode(ForwardPass& pass, bool recomputes);

// The head's logits: [B,C], [T,C] or [M,V]. `hidden` is [B,H], [T,H] or [M,H].
Value head_logits(ForwardPass& pass, Value hidden);

// The sum of weighted losses and the sum of the weights, of what has labels.
struct Loss {
  Value sum, weights;
};
Loss loss_of(const ForwardPass& pass, Value logits, double label_smoothing);
// What inference gives of masked tokens in place of logits [M,V]: [M,2], the loss of each without
// its weight (0 where it has no label), and the first id that has the largest logit.
Value vocabulary_predictions(const ForwardPass& pass, Value logits);

}  // namespace berth
