#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/config.h"
#include "trainer/xla/stablehlo/graph.h"

namespace berth {

// The network's files use these names all the time.
using stablehlo::Comparison;
using stablehlo::Dims;
using stablehlo::ElementType;
using stablehlo::Graph;
using stablehlo::Value;

// The sizes of a micro-batch, which are fixed when a program is compiled. Sequences are packed into
// R rows of S tokens. Each sequence lies whole in one row and begins at a column that is a multiple
// of 8. The columns that no sequence takes are padding.
struct BatchShape {
  int64_t rows = 0;        // R
  int64_t row_length = 0;  // S, a multiple of 8
  int64_t sequences = 0;   // B, the most sequences in all rows
  int64_t masked = 0;      // M, the most masked tokens; for masked language models only
  // How many sequences are one example, and the most examples of all replicas (E). Each replica
  // computes the loss of all examples together, from the outputs that all replicas give it.
  int64_t group = 1, examples = 0;  // no number of examples where each sequence is one
  bool has_teacher = false;         // whether a teacher's logits are beside the labels
  // Gradient caching: whether the gradients of the outputs are given in place of labels. Without
  // rows, the outputs of all examples are given, and the program compares them.
  bool has_gradients = false;

  int64_t tokens() const { return rows * row_length; }  // T
  auto operator<=>(const BatchShape&) const = default;
};

// An input or output of a program.
struct NamedValue {
  std::string name;
  Value value;
};

// A micro-batch as inputs of a program. Tokens are numbered row by row: token t is column t % S of
// row t / S. A member that the task does not have is an empty Value, and the program has no such
// input.
//
// Padding must not change a result. Padding tokens have ids and positions inside the tables, a
// segment of their own, place 0 and any number. Their labels are -1, or have weight 0. Padding
// sequences are token 0 with weight 0, and padding masked tokens are token 0 with label -1.
struct BatchInputs {
  // s32 [R,S].
  Value input_ids, position_ids;
  Value token_type_ids;  // where the model has token types
  Value segment;         // which sequence of its row a token belongs to
  Value place;           // the token's number in its sequence
  // The rows of dropout, u32: the numbers of tokens [R,S] and sequences [B] in the update. Without
  // padding they count as PackedBatch does, from its first_token and first_sequence.
  Value token_number, sequence_number;
  Value first_token;  // s32 [B], of sequences; tasks of sequences and answers
  Value masked;       // s32 [M], tokens; masked language models
  Value draws;        // f32 [M], random numbers from 0 to 1; generators
  // Where several sequences are an example, the sequences of all examples in order [E*G]: s32 the
  // number of the sequence among this replica's, and f32 1 if it is one of them, else 0.
  Value slots, own_slots;
  int64_t group = 1;  // G
  Value embeddings;   // f32 [E*G,H], where there are no tokens
  Value gradients;    // f32 [B,H], by the embeddings of this replica's sequences
  Value loss_sums;    // f32 [2], the sums of losses and weights that an accumulation adds
  // By the task's LabelKind: s32 classes [B], f32 numbers [B], f32 sets [B,C], s32 classes [R,S],
  // s32 ids [M], or the tokens where answers start, s32 [B]. Negative classes, ids and tokens have
  // no loss. Examples of several sequences have [E], the same on all replicas.
  Value labels;
  Value ends;     // s32 [B], the last tokens of answers
  Value teacher;  // f32 [B,C], a teacher's logits
  Value weights;  // f32, of each label: [B], [R,S], [M] or [E]
  // s32 [B] whether the second text does not follow the first one, negative: no loss; and f32 [B]
  // the factor of each of these losses.
  Value next_sentences, next_weights;

  // The inputs that exist, under their members' names, in the order in which a program takes them.
  std::vector<NamedValue> in_order;
};

// Adds the inputs of a micro-batch to a program for the config's task.
BatchInputs batch_inputs(Graph& graph, const ModelConfig& config, const BatchShape& shape);

}  // namespace berth
