#pragma once

#include <array>
#include <cstdint>

#include "trainer/cpu/kernels/tensor.h"

// The arguments of the operations in kernels.h, in groups. The shape letters are explained there.
// All these structs are values that borrow their tensors for one call.
namespace berth {

// The meaning of a row of a dropped tensor. Tokens and sequences are counted from the first one of
// the update, the rows of a table from the table's first row.
enum class DropoutRows { kTokens, kSequences, kTable };

// Where and how often to drop (Srivastava et al. 2014). A counter-based generator decides whether
// element i of row r stays (Philox 4x32-10, Salmon et al. 2011). Its key is (seed, site, step) and
// its counter (number of the row, i). The decision therefore does not depend on how an update is
// cut into micro-batches, and backward makes it again instead of storing it. Elements that stay are
// scaled by 1/(1-p).
struct Dropout {
  float p = 0;        // 0 in evaluation: nothing is dropped
  uint32_t site = 0;  // a different number for each place in the model
  DropoutRows rows = DropoutRows::kTokens;
  uint64_t first_row = 0;  // kTable: the number of the first row in its table
  ConstTensor tokens{};    // kTokens: the rows' tokens, int32; null: all tokens of the batch
};

// The rows of the embedding tables that each token takes, int32 [T].
struct EmbeddingIds {
  ConstTensor words, positions, types;  // positions and types: null where their table is null
};

// The tables whose rows are summed, [rows,H].
struct EmbeddingTables {
  ConstTensor word, position, type;  // position, type: null in models without them
};

// Rows of the embedding tables that stand for padding and never learn; -1: there is no such row.
struct PaddingRows {
  int64_t word = -1, position = -1;
};

struct EmbeddingGradients {
  Tensor dword, dposition, dtype;  // null where the table does not train
  Tensor word_marks{};  // [V] RowMarks, set for the rows that get a gradient; may be null
};

struct LayerNormParameters {
  ConstTensor gamma, beta;  // [H]; beta: null where nothing is added
  float epsilon = 0;
};

struct LayerNormGradients {
  Tensor dgamma, dbeta;  // [H], added to; null where it is not wanted
};

// The mean and the reciprocal standard deviation of each row, fp32 [T]. Forward writes them.
struct NormStatistics {
  Tensor mean, rstd;
};

// Rows that a forward pass normalized, with the statistics that it found.
struct NormalizedRows {
  ConstTensor x;           // [T,H]
  ConstTensor mean, rstd;  // [T]
};

// What the fused end of half an encoder layer writes.
struct AddLayerNormOutputs {
  Tensor sum, y;  // [T,H]; sum may be the x that was dropped
  NormStatistics statistics;
};

struct AddLayerNormGradients {
  Tensor dx;         // [T,H], of what went through dropout
  Tensor dresidual;  // [T,H], of the sum; may be dy
  LayerNormGradients parameters;
};

// The relative positions of disentangled attention (He et al. 2020, arXiv:2006.03654).
struct RelativePositionInputs {
  ConstTensor qk;  // [P,2H]: the queries and the keys of P relative positions, A heads of D each
  // int32 [2N-1]. Element i is the row of qk that belongs to a query which stands N-1-i tokens
  // before its key. The rows lie in [0,P) and do not decrease. No sequence is longer than N.
  ConstTensor rows;

  explicit operator bool() const { return static_cast<bool>(qk); }
  int64_t longest() const { return (rows.elements() + 1) / 2; }  // N
};

// A bias that is added to scaled scores. It is learnt, by head and by the distance from a key to
// its query (Raffel et al. 2019, arXiv:1910.10683, section 2.1).
struct PositionBiasInputs {
  ConstTensor table;  // [P,A]
  // int32 [2N-1]. Element i is the row of the table that belongs to a query which stands N-1-i
  // tokens before its key. No sequence is longer than N.
  ConstTensor rows;

  explicit operator bool() const { return static_cast<bool>(table); }
  int64_t longest() const { return (rows.elements() + 1) / 2; }  // N
};

// Self-attention inside each sequence of a packed batch. Usually every token has a query, and `qkv`
// holds queries, keys and values. If only some tokens have queries, `selected` names them, `q`
// holds their queries, and `qkv` holds the keys and values of all tokens.
struct AttentionInputs {
  ConstTensor qkv;         // [T,3H], or [T,2H] beside q; each part is A heads of D
  ConstTensor q{};         // [R,H]; null where every token asks
  ConstTensor selected{};  // int32 [R], increasing; null if every token has a query
  ConstTensor cu_seqlens;  // int32 [B+1]: sequence b is rows cu_seqlens[b] to cu_seqlens[b+1]
  int num_heads = 1;
  RelativePositionInputs relative{};  // null: scores come from the tokens' contents only
  PositionBiasInputs bias{};          // null: there is none; not beside relative
  // The largest distance between a key and its query; -1: no limit. Not beside q, relative or bias.
  int64_t window = -1;
  Dropout dropout{};  // of the probabilities
};

struct AttentionGradients {
  Tensor dqkv;            // as qkv
  Tensor dq{};            // [R,H], where q is given
  Tensor drelative_qk{};  // [P,2H], where relative positions are given
  Tensor dbias{};         // [P,A], added to; null: it is not wanted
};

// The cosines and sines of rotary positions, [P,D/2]: element i of row p belongs to the angle p *
// base^(-2i/D).
struct RotaryAngles {
  ConstTensor cosines, sines;
};

// The most tokens that a factored gradient has, and the most rows and columns together that its
// matrix has.
struct FactoredExtent {
  int64_t tokens = 0, rows_and_columns = 0;
};

// What determines how much scratch memory a model's operations need: its largest attention, its
// widest input of a dense layer and its largest factored gradient.
struct ScratchExtent {
  int64_t longest = 0;  // tokens of a sequence
  int64_t heads = 1, head_size = 0;
  int64_t positions = 0;      // relative positions of disentangled attention; 0: none
  int64_t bias_rows = 0;      // of a position bias; 0: there is none
  int64_t deepest = 0;        // the most inputs of a dense layer
  FactoredExtent factored{};  // all zeros: there are no factored gradients
};

// The logits of B rows, and their targets.
struct LossInputs {
  ConstTensor logits;     // [B,C]
  ConstTensor targets;    // see the operation
  ConstTensor weights{};  // [B]; null: every row weighs 1
};

// The embeddings of B examples of G texts each.
struct GroupInputs {
  ConstTensor embeddings;  // [B*G,H]: the embeddings of the first example, then of the second, ...
  int64_t group = 2;       // G
  bool has_loss = true;    // false: there are only outputs
  ConstTensor targets{};   // [B]; see the operation
  ConstTensor weights{};   // [B]; null: every example weighs 1

  int64_t examples() const { return embeddings.rows() / group; }
};

// What a loss does with the errors of the outputs of one row.
enum class OverOutputs { kSum, kMean };

// The random numbers by which rows of logits are sampled: row r has one number from 0 to 1, the
// Philox block of `key` whose counter is first_token + tokens[r]. So a sample does not depend on
// how rows are cut into batches.
struct SampleDraws {
  std::array<uint32_t, 2> key{};
  uint64_t first_token = 0;
  ConstTensor tokens{};  // int32 [M]
};

// The last layer of a language model, and what it should predict: M rows whose logits are
// x w^T + bias.
struct VocabularyInputs {
  ConstTensor x;          // [M,E]
  ConstTensor bias;       // [V]
  ConstTensor targets;    // int32 [M]; a negative one has no loss and no weight
  ConstTensor weights{};  // [M]; null: every row weighs 1
  SampleDraws draws{};    // of VocabularyOutputs::samples
};

struct VocabularyOutputs {
  // Scratch memory for a tile of the logits, [R,C]. C is a multiple of 32, or at least V.
  Tensor tile;
  // [M,2]: the loss of each row without its weight (0 where it has no target), and the id that has
  // the largest logit, or the first such id.
  Tensor predictions;
  Tensor dx{};           // [M,E], overwritten; null in evaluation
  Tensor dw{}, dbias{};  // [V,E], [V], added to; null where they do not train
  // int32 [M]: an id for each row, drawn from the softmax of its logits; -1 for a row without a
  // target. Null: none are drawn.
  Tensor samples{};
};

// Question answering: where the answer in each of B sequences starts and ends.
struct SpanLossInputs {
  ConstTensor logits;        // [T,2]: of each token, as the start and as the end
  ConstTensor cu_seqlens;    // int32 [B+1]
  ConstTensor starts, ends;  // int32 [B]: rows of logits inside the sequence, or negative
  ConstTensor weights{};     // [B]; null: every sequence weighs 1
};

}  // namespace berth
