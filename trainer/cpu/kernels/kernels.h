#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/bf16/bf16_products.h"
#include "trainer/cpu/kernels/loops.h"
#include "trainer/cpu/kernels/step_state.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/cpu/kernels/weight.h"
#include "trainer/model/activation.h"
#include "trainer/model/optimizer_options.h"

namespace berth {

struct AttentionShape;
struct AttentionInputs;
struct AttentionGradients;

// Whether a result replaces what was there or is added to it, as dx at a residual.
enum class Into { kOverwrite, kAdd };

// Where the gradients of a dense layer's parameters go; null: nobody wants them.
struct LinearGradients {
  Tensor dw{};                // [N,K], fp32 or kept_dtype()
  Tensor dbias{};             // [N], added to
  Into into_dw = Into::kAdd;  // kOverwrite where dw is not fp32
};

// What the rows of a dropped tensor are: they count from the update's first token or sequence.
// Those of a table count from its own first row, the same in all of an update.
enum class DropoutRows { kTokens, kSequences, kTable };

// Where and how often to drop (Srivastava et al. 2014). Element i of row r is kept by a
// counter-based generator (Philox 4x32-10, Salmon et al. 2011) keyed by (seed, site, step) and
// counting (first_token + r, i), or (first_sequence + r, i): independent of how the update is cut
// into micro-batches and ranks, and made again in backward instead of being stored. Kept values are
// scaled by 1/(1-p).
struct Dropout {
  float p = 0;        // 0: identity, as in evaluation
  uint32_t site = 0;  // a different one for each place in the model
  DropoutRows rows = DropoutRows::kTokens;
  uint64_t first_row = 0;  // of a table: where the rows handed over begin in it
  Tensor tokens{};         // int32, the micro-batch's tokens that the rows are; null: all, in order
};

// Rows of the embedding tables that stand for padding and learn nothing; -1: none.
struct PaddingRows {
  int64_t word = -1, position = -1;
};

// What is known of a row of an embedding table's gradient and moments: bits of an int32 a row. What
// has no bit holds zeros, so that an update need not read it: most rows are in no text. To have
// bits too many is safe.
enum RowMark : int32_t { kHasGradient = 1, kHasMoments = 2 };

// What disentangled attention knows of positions: queries and keys of P relative positions, and
// which of them a distance means.
struct RelativeRows {
  Tensor position_qk;  // [P,2H]: queries, keys, each as A heads of D
  // [2N-1] int32: the row of a query N-1-i tokens before its key, at i; not decreasing, inside
  // [0,P). No sequence is longer than N.
  Tensor rows;

  int64_t longest() const { return (rows.elements() + 1) / 2; }
};

// The largest attention that a model comes to, for what a backend needs beside its arguments.
struct AttentionExtent {
  int64_t longest = 0;  // tokens of a sequence
  int64_t heads = 1, head_size = 0;
  int64_t positions = 0;  // relative ones, of disentangled attention; 0: none
};

// Elements [begin, end) of the parameter arena that share their factors.
struct UpdateRange {
  int64_t begin = 0, end = 0;
  float weight_decay = 0;
  float rate_scale = 1;  // times the step's learning rate
  bool adapts = true;    // LAMB's, to the size of the weights
  Tensor marks{};        // of the rows of the table that this is; null: it is none
  Tensor gradient{};     // where it is not in g, fp32 or kept_dtype(); null: it is there
};

// A matrix's gradient as the factors of the one product that it is, dy^T x [N,K]: of a batch with
// few tokens these are smaller, and quicker to keep until the update than what they come to.
struct FactoredGradient {
  Tensor dy, x;  // [T,N], [T,K], both in kept_dtype()
};

struct FactoredUpdate {
  FactoredGradient gradient;
  UpdateRange range;  // the matrix's part of the parameter arena
};

// The operations of a BERT-family training step. One abstract class; a backend (CPU fp32, CPU bf16
// tiles, CUDA) implements all of it and owns memory, copies, threads and streams.
//
// Shape letters: T tokens of a packed batch, B sequences, H hidden, A heads, D = H/A, F
// feed-forward, V vocabulary, C classes, N and K a matrix's outputs and inputs. Activations have
// dtype activation_dtype(); parameters, their gradients and moments, statistics and losses are
// fp32, but for a matrix's gradient of one batch, which may be rounded to kept_dtype(); ids are
// int32. Forward operations overwrite their results. Backward: activation gradients overwrite (or
// add, where `Into` says so), parameter gradients ADD, but for such a matrix's. A null Tensor for a
// gradient means that nobody wants it. Operations run in call order. Not thread-safe: one caller,
// but that uploads to different places may come from several threads, while nothing else runs.
// Shapes are asserted, not reported: the model checked them when it was built. An allocation that
// fails throws kMemory.
class Kernels {
 public:
  // `bf16`: null for products in fp32.
  Kernels(ThreadPool& pool, const CpuLoops& loops, const Bf16Loops* bf16);

  // "cpu-fp32-avx2, 2 threads": for people, and for state.json (results repeat on the same one).
  std::string description() const;
  DType activation_dtype() const { return DType::kF32; }
  // What activations are kept in for backward whose precision the products round away.
  DType kept_dtype() const { return product_dtype(); }
  // What the factors of products are rounded to, but for a narrow head's; their sums are fp32.
  DType product_dtype() const { return bf16_ ? DType::kBF16 : DType::kF32; }

  // ---- Memory ------------------------------------------------------------------------------
  std::unique_ptr<Memory> allocate(size_t size_bytes);
  // Much of x, to which nothing was written yet, may never be: that should take no memory.
  void expect_sparse(Tensor x);
  void upload(Tensor to, const void* from);
  void download(void* to, Tensor from);  // waits
  void zero(Tensor x);
  void add(Tensor x, Tensor y);  // y += x, of one shape
  // y = x, of one shape; one of them in kept_dtype().
  void convert(Tensor x, Tensor y);

  // [N,K]; packs nothing where its data are null, as a plan's (Parameters) are. Products are the
  // same to the bit whatever its use.
  std::unique_ptr<Weight> make_weight(Tensor master, WeightUse use);
  void refresh(Weight& weight);

  // What steps make the backend hold at most, besides what it was asked to allocate and weights.
  size_t scratch_bytes(const AttentionExtent& extent) const;
  // What a Weight of this shape holds beside its master.
  size_t packed_bytes(int64_t rows, int64_t columns, WeightUse use) const;
  // What operations on factored gradients hold, of so many tokens and matrices of at most so many
  // rows and columns together.
  size_t factored_scratch_bytes(int64_t tokens, int64_t rows_and_columns) const;

  // ---- An update ---------------------------------------------------------------------------
  void begin_step(StepState& state, const StepInputs& inputs);  // zeroes the sums
  // Tokens and sequences of this update that come before the next micro-batch (on any rank): where
  // dropout counts from.
  void begin_micro_batch(StepState& state, uint64_t first_token, uint64_t first_sequence);
  StepOutcome read_step(StepState& state);

  // ---- Embeddings --------------------------------------------------------------------------
  // y[t] = word[input_ids[t]] + position[position_ids[t]] + type[token_type_ids[t]]; y [T,H].
  // `position` and `type` may be null (models without them).
  void embedding_forward(Tensor input_ids, Tensor position_ids, Tensor token_type_ids, Tensor word,
                         Tensor position, Tensor type, Tensor y);
  // Adds dy [T,H] into the rows that were read, but those of padding. word_marks [V], where it is
  // not null, gets kHasGradient of them.
  void embedding_backward(Tensor dy, Tensor input_ids, Tensor position_ids, Tensor token_type_ids,
                          PaddingRows padding, Tensor dword, Tensor word_marks, Tensor dposition,
                          Tensor dtype);

  // ---- Normalization and dropout -------------------------------------------------------------
  // Layer normalization over H, Ba et al. 2016, arXiv:1607.06450.
  // x, y [T,H]; gamma, beta [H]; mean, rstd [T], kept for backward.
  void layer_norm_forward(Tensor x, Tensor gamma, Tensor beta, float epsilon, Tensor y, Tensor mean,
                          Tensor rstd);
  // y again, the same to the bit, of an x that one of the forwards here saw.
  void layer_norm_again(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor rstd, Tensor y);
  // Overwrites dx [T,H], which may be dy; adds into dgamma, dbeta [H].
  void layer_norm_backward(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor rstd, Tensor dx,
                           Tensor dgamma, Tensor dbeta);

  // The end of both halves of an encoder layer, fused:
  // sum = residual + dropout(x); y = layer_norm(sum). All [T,H]; sum may be x.
  void add_layer_norm_forward(Tensor x, Tensor residual, Dropout dropout, const StepState& state,
                              Tensor gamma, Tensor beta, float epsilon, Tensor sum, Tensor y,
                              Tensor mean, Tensor rstd);
  // Overwrites dresidual (the gradient of sum; may be dy) and dx = dropout'(dresidual).
  void add_layer_norm_backward(Tensor dy, Tensor sum, Dropout dropout, const StepState& state,
                               Tensor gamma, Tensor mean, Tensor rstd, Tensor dx, Tensor dresidual,
                               Tensor dgamma, Tensor dbeta);

  // y = dropout(x), rows counting as `dropout.rows` says. y may be x. Its own backward: dx =
  // dropout(dy).
  void dropout(Tensor x, Dropout dropout, const StepState& state, Tensor y);

  // ---- Matrix products -----------------------------------------------------------------------
  // y [T,N] = x [T,K] w^T + bias [N].
  void linear_forward(Tensor x, const Weight& w, Tensor bias, Tensor y);
  // dx [T,K] = dy [T,N] w; dw = or += dy^T x, summed up in fp32; dbias += column sums
  // of dy.
  void linear_backward(Tensor dy, Tensor x, const Weight& w, Tensor dx, Into into,
                       const LinearGradients& gradients);
  // pre = x w^T + bias, kept for backward in fp32 or kept_dtype(); y = activation(pre), of what was
  // kept. GELU: Hendrycks and Gimpel 2016, arXiv:1606.08415, by erf (kGelu) or its tanh
  // approximation (kGeluTanh).
  void linear_activation_forward(Tensor x, const Weight& w, Tensor bias, Activation activation,
                                 Tensor pre, Tensor y);
  // dy becomes the gradient of pre, in place; then as linear_backward.
  void linear_activation_backward(Tensor dy, Tensor pre, Activation activation, Tensor x,
                                  const Weight& w, Tensor dx, Into into,
                                  const LinearGradients& gradients);

  // The same after the product, for a pre that more than one makes: y holds it.
  void activation_forward(Tensor y, Activation activation, Tensor pre);
  // y again, the same to the bit. y may not be pre.
  void activation_again(Tensor pre, Activation activation, Tensor y);

  // Low-rank adaptation of a matrix (Hu et al. 2021, arXiv:2106.09685): down [T,R] = x [T,K] a^T,
  // kept for backward; columns [column, column + N) of y += scale * down b^T. a [R,K], b [N,R].
  void low_rank_forward(Tensor x, const Weight& a, const Weight& b, float scale, int64_t column,
                        Tensor down, Tensor y);
  // dy as y; ddown [T,R] overwritten, scratch; da, db add. dx [T,K] may be x where it overwrites.
  void low_rank_backward(Tensor dy, int64_t column, Tensor x, Tensor down, const Weight& a,
                         const Weight& b, float scale, Tensor ddown, Tensor dx, Into into,
                         Tensor da, Tensor db);

  // ---- Convolution ---------------------------------------------------------------------------
  // Over a token's neighbours in its own sequence, S of them (odd), itself in their middle:
  // windows[t] holds, at h * S + s, element h of neighbour s, and 0 where the sequence has none;
  // pre = dropout(windows w^T + bias); y = activation(pre). x [T,H]; w [N,H*S], as PyTorch's Conv1d
  // keeps it; bias [N]; y [T,N]. windows [T,H*S] and pre [T,N] are kept for backward.
  void convolution_forward(Tensor x, Tensor cu_seqlens, const Weight& w, Tensor bias,
                           Dropout dropout, Activation activation, const StepState& state,
                           Tensor windows, Tensor pre, Tensor y);
  // Uses dy up. Overwrites dwindows [T,H*S], a scratch, and dx [T,H]; adds into dw, dbias.
  void convolution_backward(Tensor dy, Tensor pre, Tensor windows, Tensor cu_seqlens,
                            const Weight& w, Dropout dropout, Activation activation,
                            const StepState& state, Tensor dwindows, Tensor dx, Tensor dw,
                            Tensor dbias);

  // ---- Attention -----------------------------------------------------------------------------
  // Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762) inside each sequence of a
  // packed batch: rows cu_seqlens[b] .. cu_seqlens[b+1] attend to each other and to nothing else.
  // qkv [T,3H] holds q, k, v, each as A heads of D; out [T,H]; log_sum_exp [T,A] fp32 of the scaled
  // scores. Dropout falls on the probabilities, counted by (query token, head, key's place in its
  // sequence).
  void attention_forward(Tensor qkv, Tensor cu_seqlens, int num_heads, Dropout dropout,
                         const StepState& state, Tensor out, Tensor log_sum_exp);
  // Probabilities are computed again from qkv and log_sum_exp (Dao et al. 2022, arXiv:2205.14135).
  // Overwrites dqkv [T,3H].
  void attention_backward(Tensor dout, Tensor qkv, Tensor out, Tensor log_sum_exp,
                          Tensor cu_seqlens, int num_heads, Dropout dropout, const StepState& state,
                          Tensor dqkv);

  // The same for the queries of some tokens alone, picked [R], increasing: q [R,H] are theirs, kv
  // [T,2H] the keys and values of all; out [R,H]; log_sum_exp [R,A]. dropout.tokens is `picked`.
  void picked_attention_forward(Tensor q, Tensor kv, Tensor picked, Tensor cu_seqlens,
                                int num_heads, Dropout dropout, const StepState& state, Tensor out,
                                Tensor log_sum_exp);
  // Overwrites dq [R,H] and dkv [T,2H].
  void picked_attention_backward(Tensor dout, Tensor q, Tensor kv, Tensor picked, Tensor out,
                                 Tensor log_sum_exp, Tensor cu_seqlens, int num_heads,
                                 Dropout dropout, const StepState& state, Tensor dq, Tensor dkv);

  // Disentangled attention (He et al. 2020, arXiv:2006.03654, equation 4), keys and queries of
  // positions shared by name with those of content: as above with the scores of query i and key j
  // (q_i.k_j + q_i.pk_r + k_j.pq_r) / sqrt(3D), r being the relative row of i - j.
  void disentangled_attention_forward(Tensor qkv, const RelativeRows& relative, Tensor cu_seqlens,
                                      int num_heads, Dropout dropout, const StepState& state,
                                      Tensor out, Tensor log_sum_exp);
  // Overwrites dqkv [T,3H] and dposition_qk [P,2H].
  void disentangled_attention_backward(Tensor dout, Tensor qkv, const RelativeRows& relative,
                                       Tensor out, Tensor log_sum_exp, Tensor cu_seqlens,
                                       int num_heads, Dropout dropout, const StepState& state,
                                       Tensor dqkv, Tensor dposition_qk);

  // ---- Heads and losses ----------------------------------------------------------------------
  // y[r] = x[rows[r]]; x [T,H], y [R,H], rows [R] int32, distinct.
  void gather_rows(Tensor x, Tensor rows, Tensor y);
  // Overwrites all of dx [T,H]: zero but for the gathered rows.
  void gather_rows_backward(Tensor dy, Tensor rows, Tensor dx);

  // Every loss adds the SUM of weight * loss over its rows to the state's loss and that of the
  // weights to its examples, and overwrites dlogits (null: evaluation) with the sum's gradient.
  // weights [B] fp32; null: all 1. Each row's numbers are the same for any number of threads.

  // Softmax cross-entropy: logits [B,C], labels [B] int32; a row with a negative label has no loss
  // and no weight. Smoothed (Szegedy et al. 2015, arXiv:1512.00567): the target is the label by 1 -
  // smoothing and, by `smoothing`, all classes alike, as torch.nn.CrossEntropyLoss has it.
  void cross_entropy(Tensor logits, Tensor labels, Tensor weights, float smoothing,
                     StepState& state, Tensor dlogits);
  // (logits - targets)^2: logits [B,1], targets [B] fp32.
  void mean_squared_error(Tensor logits, Tensor targets, Tensor weights, StepState& state,
                          Tensor dlogits);
  // Of sigmoid(logits) [B,C] and targets [B,C] fp32, from 0 to 1; a row's loss is its mean over C,
  // so that the mean over B is torch.nn.BCEWithLogitsLoss's.
  void binary_cross_entropy(Tensor logits, Tensor targets, Tensor weights, StepState& state,
                            Tensor dlogits);
  // Where an answer starts and ends (Devlin et al. 2018, arXiv:1810.04805, section 4.2): logits
  // [T,2]; a softmax of each column over each sequence's tokens; half the sum of both
  // cross-entropies. starts, ends [B] int32: rows of logits, inside their sequence; a sequence
  // where either is negative has no loss and no weight.
  void span_cross_entropy(Tensor logits, Tensor cu_seqlens, Tensor starts, Tensor ends,
                          Tensor weights, StepState& state, Tensor dlogits);

  // ---- Optimizer -----------------------------------------------------------------------------
  // Adds the sum of squares of x (any shape, fp32 or kept_dtype()) to the state.
  void add_squares(Tensor x, StepState& state);
  // The same of the rows of x that have kHasGradient; the others are zeros. x: as many rows of one
  // length as there are marks.
  void add_squares_of_rows(Tensor x, Tensor marks, StepState& state);
  // The same of gradients that are not computed: |dy^T x|^2 is the sum of the products of dy dy^T's
  // elements and those of x x^T (Li et al. 2022, arXiv:2110.05679, section 4).
  void add_squares_of_products(std::span<const FactoredGradient> gradients, StepState& state);
  // From the sums: grad_norm = sqrt(squares) / examples, and the factor 1/examples, times
  // max_grad_norm/grad_norm where the norm exceeds it (max_grad_norm 0: no clipping).
  void finish_gradients(float max_grad_norm, StepState& state);
  // AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) with bias correction, as
  // torch.optim.AdamW: w -= rate * decay * w; w -= rate * m_hat / (sqrt(v_hat) + epsilon). w, g, m,
  // v [n]; g is taken times the factor of finish_gradients; ranges lie inside [0, n), disjoint.
  // Zeroes g, but not gradients that stand elsewhere. Keeps the ranges' marks true.
  void adamw(Tensor w, Tensor g, Tensor m, Tensor v, std::span<const UpdateRange> ranges,
             const AdamWOptions& options, const StepState& state);
  // The same of matrices whose gradients are made piece by piece and never stand in memory.
  void adamw_of_products(Tensor w, std::span<const FactoredUpdate> updates, Tensor m, Tensor v,
                         const AdamWOptions& options, const StepState& state);
  // LAMB (You et al. 2019, arXiv:1904.00962), with bias correction. As adamw, but the whole step of
  // a range, u = m_hat / (sqrt(v_hat) + epsilon) + decay * w, is scaled by |w| / |u| where the
  // range adapts and neither is 0: one range a parameter.
  void lamb(Tensor w, Tensor g, Tensor m, Tensor v, std::span<const UpdateRange> ranges,
            const AdamWOptions& options, const StepState& state);

 private:
  // pool_.parallel_for with denormals flushed.
  void parallel(int64_t count, int64_t grain, const ThreadPool::Range& fn);
  // The least number of rows of `columns` elements worth a thread of its own.
  static int64_t row_grain(int64_t columns) { return std::max<int64_t>(1, 8192 / (columns + 1)); }
  // In bf16 where products of `weight` are; `right`: its packed form that is b.
  void multiply_by(const Weight& weight, const std::optional<Bf16Matrix>& right,
                   const Product& product, const TileFunction& after = {});
  // dw = dy^T x, or that added; of bf16 overwritten.
  void weight_gradient(const Weight& weight, Tensor dy, Tensor x, Tensor dw, Into into);
  // A small one, in bf16 where large ones are, on the calling thread, `thread` of the pool's.
  void multiply_alone(const Product& product, int thread);
  // Of each thread, for gradients of so many tokens and matrices of so many rows and columns.
  int64_t factored_room(int64_t tokens, int64_t rows_and_columns) const;
  int64_t make_factored_room(int64_t tokens, int64_t rows_and_columns);
  // Both in fp32: where they lie, or made in `room`.
  FactoredGradient in_fp32(const FactoredGradient& g, float* room) const;
  // |dy^T x|^2; `room`: for what is computed on the way.
  double squares_of(const FactoredGradient& g, float* room, int thread);
  // Rows [begin, end) of the matrix, on the calling thread; w, m and v begin with the matrix.
  void update_matrix(const FactoredGradient& gradient, int64_t begin, int64_t end, float* w,
                     float* m, float* v, const AdamWFactors& factors, float* room, int thread);
  void attend(const AttentionShape& shape, const AttentionInputs& inputs,
              const std::optional<DropoutDraw>& draw, Tensor out, Tensor log_sum_exp);
  void attend_backward(const AttentionShape& shape, const AttentionInputs& inputs,
                       const std::optional<DropoutDraw>& draw, Tensor dout, Tensor out,
                       Tensor log_sum_exp, const AttentionGradients& gradients);
  // Elements [at, at + count) of pre: kept of sums, which may be them; then activated. y is not
  // pre.
  void keep_row(const float* sums, Tensor pre, int64_t at, int64_t count) const;
  void activate_row(Tensor pre, Activation activation, int64_t at, int64_t count, float* y) const;
  // dy becomes the gradient of pre, in place.
  void activation_backward(Tensor pre, Activation activation, Tensor dy);
  void add_column_sums(Tensor x, Tensor sums);
  void backward_through_norm(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor rstd,
                             const std::optional<DropoutDraw>& draw, Tensor dx, Tensor ddropped,
                             Tensor dgamma, Tensor dbeta);

  ThreadPool& pool_;
  const CpuLoops& loops_;
  std::optional<Bf16Products> bf16_;
  std::vector<std::vector<float>> scratch_;        // of attention, one for each thread
  std::vector<std::vector<float>> position_sums_;  // of its backward, one for each part
  std::vector<float> factored_;                    // scratch of factored gradients
};

}  // namespace berth
