#pragma once

#include <array>
#include <map>
#include <span>
#include <string>

#include "trainer/model/config.h"
#include "trainer/model/functions.h"
#include "trainer/model/network.h"
#include "trainer/model/parameter_table.h"
#include "trainer/onnx/graph.h"
#include "trainer/onnx/operations.h"

// The lowering to ONNX of the network that trainer/model/network.h describes: inference of a padded
// batch.
//
// Shape letters: B sequences, S tokens of each (with padding), H hidden, A heads, D = H/A. F
// feed-forward, E embedding, V vocabulary, P rows of DeBERTa's table of relative positions.
// Activations are fp32 [B,S,H] unless a comment says otherwise.
namespace berth::onnx {

struct Network {
  using Value = onnx::Value;

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

  // ---- Made by add_positions(); what the model does not have is empty ----
  // DeBERTa's relative positions.
  struct RelativePositions {
    Value table{};  // fp32 [P,H], normalized if the model does that
    // The rows of the table for 2S offsets from -(S-1) to S, int64 [2S]. The offset is from a query
    // to its key (of_keys), or from a key to its query (of_queries).
    Value of_keys{}, of_queries{};
    // What shift_rows() needs: int64 [1], [1] and [4].
    Value first{}, end{}, shape{}, length{};
  } relative{};
  // padding_scores with the keys that are too far away for a layer's local attention, fp32
  // [B,1,S,S], by the distance that it reaches.
  std::map<int64_t, Value> local_scores{};
  // The cosines and sines of rotary positions, fp32 [S,D/2], by the base of their frequencies.
  struct Rotary {
    Value cosines{}, sines{};
  };
  std::map<double, Rotary> rotary{};
  Value position_bias{};  // MPNet's biases of scores by distance, fp32 [A,S,S]

  std::map<std::string, Value> as_fp32{};  // parameters that are stored in another type, by name

  // The parameter `name` in fp32. Throws kInternal if there is none.
  Value parameter(const std::string& name, bool is_transposed = false);
  bool has(const std::string& name) const;
  // The rows of the table NAME.weight with these numbers, in fp32.
  Value rows(const std::string& name, const Value& numbers) const;
  // The number of tokens S: int64 [1].
  Value length() const { return size_of_axis(input_ids, 1); }

  // ---- What NetworkLowering asks for ----
  void begin_part(const std::string& name) { graph.begin_part(name); }
  void begin_layer() {}
  void end_layer() {}
  // The file holds NAME.weight [M,K] transposed.
  Value linear(const Value& x, const std::string& name);
  // Adapters are merged before.
  Value adapted_linear(const Value& x, const std::string& name, int64_t, LayerPart, const Value&) {
    return linear(x, name);
  }
  Value layer_norm(const Value& x, const std::string& name);
  Value dropout(const Value& x, double, uint32_t, const Value&) { return x; }
  std::array<Value, 2> halves(const Value& x);
  Value residual_sum(const Value& input, const Value& output) { return output + input; }
  Value embedding_sum(const EmbeddingNames& names);
  void add_positions();
  Value attend(int64_t layer, const Value& x);
  Value convolution(const Value& x, const std::string& name);
  Value vocabulary_logits(const Value& x, const MaskedLmHeadNames& names);
  Value token_rows() { return {}; }
  Value sequence_rows() { return {}; }
  Value picked(const Value& x) { return x; }
  Value first_tokens(const Value& x);
  Value sequence_means(const Value& x);

 private:
  Value stored_parameter(const std::string& name, bool is_transposed) const;
  Value position_ids() const;
  void add_relative_positions();
  void add_rotary_positions();
  void add_local_scores();
  void add_position_bias();
};

Value activate(const Value& x, Activation activation);

// What is added to scores where `is_kept`, a fp32 of any shape, is 1 or 0: nothing, or a number
// that makes their probabilities 0. Two such numbers may be added to one score.
Value excluding_scores(const Value& is_kept);

// Scores [B,A,S,S] between tokens and relative positions, c2p + p2c of disentangled attention (He
// et al. 2020, arXiv:2006.03654). q and k are [B,A,S,D].
Value relative_scores(Network& network, int64_t layer, const Value& q, const Value& k);
// q or k [B,A,S,D], turned by the rotary positions of the layer (Su et al. 2021, arXiv:2104.09864).
Value rotate(const Network& network, int64_t layer, const Value& x);

}  // namespace berth::onnx
