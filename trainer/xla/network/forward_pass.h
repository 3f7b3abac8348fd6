#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "storage/base/dtype.h"
#include "trainer/model/config.h"
#include "trainer/model/dropout_sites.h"
#include "trainer/model/functions.h"
#include "trainer/model/lora.h"
#include "trainer/model/network.h"
#include "trainer/xla/network/batch_inputs.h"
#include "trainer/xla/network/dropout_masks.h"
#include "trainer/xla/stablehlo/operations.h"

// The lowering to StableHLO of the network that trainer/model/network.h describes: a function of
// the parameters and of a packed micro-batch. Only forward passes are written here; reverse mode
// derives the gradients.
//
// Shape letters: R rows of S tokens, T = R S tokens, B sequences, P selected tokens, H hidden, A
// heads, D = H/A. F feed-forward, E embedding, V vocabulary, C outputs. Activations are f32 [T,H]
// unless a comment says otherwise.
namespace berth {

struct ForwardPass {
  using Value = stablehlo::Value;

  const ModelConfig& config;
  const LoraOptions& lora;
  DType product_dtype;
  std::map<std::string, Value> parameters;  // by name
  const BatchInputs& batch;
  std::optional<DropoutMasks> masks{};  // empty in inference: nothing is dropped
  bool recomputes = false;              // each layer is a part of the graph
  int64_t replicas = 1;                 // of the program

  // ---- Made by add_positions(); what the model does not have is empty ----
  Value relative_table{};  // the rows of DeBERTa's table of relative positions, normalized: [P,H]
  Value position_bias{};   // MPNet's biases of scores by distance, [A,S,S]

  Graph& graph() const { return batch.in_order.front().value.graph(); }
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
  // y [N,M] = what the adapter of such a layer, if it has one, adds to its output `y`:
  // alpha / rank * dropout(x) A^T B^T (Hu et al. 2021, arXiv:2106.09685).
  Value add_adapter(Value y, Value x, int64_t layer, LayerPart part, uint32_t site, Value rows);

  // ---- What NetworkLowering asks for ----
  void begin_part(const std::string&) {}
  void begin_layer();
  void end_layer() { graph().end_part(); }
  // All but the first dimension of NAME.weight are joined.
  Value linear(Value x, const std::string& name) const;
  Value adapted_linear(Value x, const std::string& name, int64_t layer, LayerPart part, Value rows);
  Value layer_norm(Value x, const std::string& name) const;
  // Of the rows of x [N,K], whose numbers are `rows`, u32 [N].
  Value dropout(Value x, double p, uint32_t site, Value rows);
  std::array<Value, 2> halves(Value x) const;
  // Post-normalized layers keep the sum rounded. Pre-normalized ones all add to it.
  Value residual_sum(Value input, Value output) const;
  Value embedding_sum(const EmbeddingNames& names) const;
  void add_positions();
  Value attend(int64_t layer, Value x);
  Value convolution(Value x, const std::string& name) const;
  Value vocabulary_logits(Value x, const MaskedLmHeadNames& names) const;
  Value token_rows() const;  // u32 [T]
  Value sequence_rows() const { return batch.sequence_number; }
  Value picked(Value x) const;  // the first tokens of sequences, the masked ones, or all
  Value first_tokens(Value x) const { return x; }  // picked() has chosen them
  Value sequence_means(Value x) const;

  Value sequence_maxima(Value x) const;  // [B,H], the largest number of each column
};

Value activate(Value x, Activation activation);

// x + offsets [K] in each of the rows [N,K]; x times factors.
Value add_to_rows(Value x, Value offsets);
Value multiply_rows(Value x, Value factors);

// Scores [R,A,S,S] between tokens and relative positions, c2p + p2c of disentangled attention (He
// et al. 2020, arXiv:2006.03654). q and k are [R,A,S,D].
Value relative_scores(ForwardPass& pass, int64_t layer, Value q, Value k);
// q or k [R,A,S,D], turned by the rotary positions of the layer (Su et al. 2021, arXiv:2104.09864).
Value rotate(const ForwardPass& pass, int64_t layer, Value x);

// What the head makes of `hidden` of encode(), which is [B,H], [T,H] or [M,H].
struct HeadOutputs {
  // [B,C], [T,C] or [M,V]. Examples of several sequences have one row for each: [E,G*C]. Tasks that
  // compare texts have the embeddings [B,H], or [E*G,H] of the sequences of all examples.
  Value logits;
  Value next_sentences{};  // [B,2], of pairs of texts that may follow each other
};
HeadOutputs head_outputs(ForwardPass& pass, Value hidden);

// The rows [E*G,C] of all examples' sequences, from the rows x [B,C] of each replica. Rows without
// a sequence are zeros.
Value of_all_replicas(const ForwardPass& pass, Value x);

}  // namespace berth
