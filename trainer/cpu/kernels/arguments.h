#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "trainer/cpu/kernels/tensor.h"
#include "trainer/model/similarity.h"
#include "trainer/model/update.h"

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
  ConstTensor shared{};              // [1,H], a row that each token takes; may be null
};

// Rows of the embedding tables that stand for padding and never learn; -1: there is no such row.
struct PaddingRows {
  int64_t word = -1, position = -1;
};

struct EmbeddingGradients {
  Tensor dword, dposition, dtype;  // null where the table does not train
  Tensor dshared{};                // likewise
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

// A residual [T,H]: the rows themselves or, where there are statistics, what normalizing them
// gives, to the bit. So a normalized tensor need not be stored in fp32.
struct Residual {
  Residual(ConstTensor values) : rows{.x = values, .mean = {}, .rstd = {}} {}
  Residual(Tensor values) : Residual(ConstTensor(values)) {}
  Residual(const NormalizedRows& normalized, const LayerNormParameters& parameters)
      : rows(normalized), norm(parameters) {}

  bool is_normalized() const { return static_cast<bool>(rows.mean); }

  NormalizedRows rows;
  LayerNormParameters norm{};
};

// What the fused end of half an encoder layer writes.
struct AddLayerNormOutputs {
  Tensor sum, y;  // [T,H]; sum may be the x that was dropped; y is an operand
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
  // Whether a pair of elements are neighbours, 2i and 2i + 1. Else they are i and i + D/2.
  bool turns_neighbours = false;
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

// How a binary cross-entropy weighs its C classes; LossOptions says what the members mean.
struct BinaryLoss {
  double focal_gamma = 0;
  std::span<const float> positive_weights{};  // [C]; empty: 1

  bool is_plain() const { return focal_gamma == 0 && positive_weights.empty(); }
};

// The embeddings of B examples of G texts each.
struct GroupInputs {
  ConstTensor embeddings;  // [B*G,H]: the embeddings of the first example, then of the second, ...
  int64_t group = 2;       // G
  bool has_loss = true;    // false: there are only outputs
  ConstTensor targets{};   // [B]; see the operation
  ConstTensor weights{};   // [B]; null: every example weighs 1
  ConstTensor vectors{};   // [B*G,V]: what another model makes of the texts; null: nothing
  ConstTensor scores{};    // [B,G-1]: a teacher's scores of all texts but the first one; or null

  int64_t examples() const { return embeddings.rows() / group; }
};

// How texts find their partners in a batch. Symmetric: second texts find the first ones, too, and
// the loss is the mean of both.
struct RankingLoss {
  double scale = 20;
  bool is_symmetric = false;
  // Not where it is symmetric.
  FalseNegativeRule rule{};
  bool contrasts_anchors = false, contrasts_positives = false;  // as in SimilarityObjective

  // The columns of the scores of B examples of G texts.
  int64_t columns(int64_t group, int64_t examples) const {
    return (group - 1 + int64_t{contrasts_anchors} + int64_t{contrasts_positives}) * examples;
  }
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

// One update while it runs: its inputs, and the sums to which its micro-batches add. Not
// thread-safe.
struct StepState {
  // Starts a new update: all sums are zero afterwards.
  void begin(const UpdateInputs& update) {
    *this = {};
    inputs = update;
  }
  // Starts the next micro-batch. Dropout counts its rows from these numbers of tokens and
  // sequences, which come before it in this update on any rank.
  void begin_micro_batch(uint64_t tokens_before, uint64_t sequences_before) {
    first_token = tokens_before;
    first_sequence = sequences_before;
  }
  // Ends the sums: computes grad_norm, and gradient_scale = 1 / examples, which is smaller by
  // max_grad_norm / grad_norm where the norm exceeds max_grad_norm (0: no clipping).
  void finish_gradients(float max_grad_norm) {
    const double mean = examples > 0 ? 1 / examples : 0;
    grad_norm = std::sqrt(squares) * mean;
    const bool clips = max_grad_norm > 0 && grad_norm > static_cast<double>(max_grad_norm);
    const double clip = clips ? static_cast<double>(max_grad_norm) / grad_norm : 1;
    gradient_scale = static_cast<float>(mean * clip);
  }
  UpdateOutcome outcome() const {
    return {.loss_sum = loss_sum, .examples = examples, .grad_norm = grad_norm};
  }

  UpdateInputs inputs{};
  uint64_t first_token = 0, first_sequence = 0;
  double loss_sum = 0, examples = 0;
  // The second loss of tasks that have two, in evaluation. In training there is one sum of both.
  double second_loss_sum = 0, second_examples = 0;
  double squares = 0;        // of the summed gradient's elements
  double grad_norm = 0;      // as in UpdateOutcome
  float gradient_scale = 0;  // by which the optimizer multiplies the summed gradient
};

// ---- The optimizer ------------------------------------------------------------------------------

// Facts about a row of an embedding table's gradient and moments, as bits of an int32 for each row.
// A row without a bit holds zeros there, so an update need not read it: most rows are in no text. A
// bit that is set without need is harmless.
enum RowMark : int32_t { kHasGradient = 1, kHasMoments = 2 };

// The gradient dy^T x [N,K] of a matrix as its two factors. For a batch of few tokens these are
// smaller than their product, and quicker to store until the update.
struct FactoredGradient {
  ConstTensor dy, x;  // [T,N], [T,K], both in product_dtype()

  explicit operator bool() const { return static_cast<bool>(dy); }
};

// One gradient, for the sum of its squares: either its values or its factors.
struct Gradient {
  ConstTensor values{};  // of any shape, fp32 or product_dtype()
  FactoredGradient factors{};
  // The RowMarks of a table that is looked up. Rows without kHasGradient are not read. Null: all
  // values are read.
  ConstTensor marks{};
};

// One parameter, or neighbours in memory that are updated alike: what an update reads and writes,
// and how. All tensors have the same number of elements; w, m and v are fp32.
struct UpdateRange {
  Tensor w;
  // The gradient is either g, in fp32 or product_dtype(), or the factors. Then w is one matrix.
  Tensor g{};
  FactoredGradient factors{};
  Tensor m, v;     // the first and the second moment
  Tensor marks{};  // the RowMarks of a table that is looked up; null for other parameters
  float weight_decay = 0;
  float rate_scale = 1;  // times the step's learning rate
  bool adapts = true;    // whether LAMB scales the step by the size of the weights
  // Whether g is set to zero, for the next update to add to. Only an fp32 gradient can be.
  bool zeroes_gradient = true;
};

// Sums of squares by which LAMB scales a step.
struct LambSquares {
  double weights = 0, steps = 0;
};

// What an update of all elements reads and writes: weights and moments twice, gradients once.
inline double bytes_of(std::span<const UpdateRange> ranges) {
  double sum = 0;
  for (const UpdateRange& range : ranges) {
    sum += 2 * bytes_of({range.w, range.m, range.v}) + bytes_of({range.g});
  }
  return sum;
}

}  // namespace berth
