#pragma once

#include <map>
#include <span>
#include <string>

#include "trainer/model/activation.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_table.h"
#include "trainer/onnx/graph.h"
#include "trainer/onnx/operations.h"

// The network of inference as a function of its parameters and of a padded batch.
//
// Shape letters: B sequences, S tokens of each (with padding), H hidden, A heads, D = H/A, F
// feed-forward, E embedding, V vocabulary, C outputs. P are the rows of DeBERTa's table of relative
// positions. Activations are fp32 [B,S,H] unless a comment says otherwise.
namespace berth::onnx {

// What all blocks are given.
struct Network {
  const ModelConfig& config;
  std::span<const ParameterSpec> specs;
  Graph& graph;
  ElementType stored;  // the type of the parameters in the file; all computation is in fp32

  // int64 [B,S]. attention_mask is 1 for tokens and 0 for padding. Where the graph has no input for
  // token types, token_type_ids is empty, and all tokens have type 0.
  Value input_ids{}, attention_mask{}, token_type_ids{};
  // What is added to the scores of keys, fp32 [B,1,1,S]: 0 for tokens, and for padding a number
  // that makes their probabilities 0.
  Value padding_scores{};

  // The same with the keys that are too far away for a layer's local attention, fp32 [B,1,S,S], by
  // the distance that it reaches.
  std::map<int64_t, Value> local_scores{};
  // The cosines and sines of rotary positions, fp32 [S,D/2], by the base of their frequencies.
  struct Rotary {
    Value cosines{}, sines{};
  };
  std::map<double, Rotary> rotary{};

  // MPNet's biases of scores by distance, fp32 [A,S,S]; empty: there are none.
  Value position_bias{};

  std::map<std::string, Value> as_fp32{};  // parameters that are stored in another type, by name

  // The parameter `name` in fp32. Throws kInternal if there is none.
  Value parameter(const std::string& name, bool is_transposed = false);
  bool has(const std::string& name) const;
  // The rows of the table NAME.weight with these numbers, in fp32.
  Value rows(const std::string& name, const Value& numbers) const;

  // y [...,M] = x [...,K] w^T + b with the parameters NAME.weight [M,K], which the file holds
  // transposed, and NAME.bias, if there is one.
  Value linear(const Value& x, const std::string& name);
  // With NAME.weight and, if there is one, NAME.bias.
  Value layer_norm(const Value& x, const std::string& name);
  // The number of tokens S: int64 [1].
  Value length() const { return size_of_axis(input_ids, 1); }

 private:
  Value stored_parameter(const std::string& name, bool is_transposed) const;
};

Value activate(const Value& x, Activation activation);

// What is added to scores where `is_kept`, a fp32 of any shape, is 1 or 0: nothing, or a number
// that makes their probabilities 0. Two such numbers may be added to one score.
Value excluding_scores(const Value& is_kept);

// ---- The blocks, in the order of the network ----------------------------------------------------

// Sums of embeddings, normalized and projected.
Value embed(Network& network);

// DeBERTa's relative positions, which all layers share.
struct RelativePositions {
  Value table{};  // fp32 [P,H], normalized if the model does that
  // The rows of the table for 2S offsets from -(S-1) to S, int64 [2S]. The offset is from a query
  // to its key (of_keys), or from a key to its query (of_queries).
  Value of_keys{}, of_queries{};
  // What shift_rows() needs: int64 [1], [1] and [4].
  Value first{}, end{}, shape{}, length{};

  explicit operator bool() const { return static_cast<bool>(table); }
};
RelativePositions relative_positions(Network& network);
// Scores [B,A,S,S] between tokens and relative positions, c2p + p2c of disentangled attention (He
// et al. 2020, arXiv:2006.03654). q and k are [B,A,S,D].
Value relative_scores(Network& network, int64_t layer, const RelativePositions& positions,
                      const Value& q, const Value& k);

// Make network.rotary, network.local_scores and network.position_bias for all layers, where the
// model has them.
void add_rotary_positions(Network& network);
void add_local_scores(Network& network);
void add_position_bias(Network& network);
// q or k [B,A,S,D], turned by the rotary positions of the layer (Su et al. 2021, arXiv:2104.09864).
Value rotate(const Network& network, int64_t layer, const Value& x);

// Self-attention (Vaswani et al. 2017, arXiv:1706.03762) before the output's dense layer.
// `positions` is empty where there are no relative ones.
Value attend(Network& network, int64_t layer, const Value& x, const RelativePositions& positions);

// The convolution beside the first layer: norm(layer_output + activation(conv(x))).
Value convolve(Network& network, const Value& x, const Value& layer_output);

// The last hidden states.
Value encode(Network& network);

// Makes the outputs of the model: logits, start_logits and end_logits, or last_hidden_state.
void add_outputs(Network& network, const Value& hidden);

}  // namespace berth::onnx
