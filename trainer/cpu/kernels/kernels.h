#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/base/profiler.h"
#include "storage/base/thread_pool.h"
#include "trainer/cpu/kernels/arguments.h"
#include "trainer/cpu/kernels/bf16/bf16_products.h"
#include "trainer/cpu/kernels/int8/int8_products.h"
#include "trainer/cpu/kernels/linear.h"
#include "trainer/cpu/kernels/loops.h"
#include "trainer/cpu/kernels/tensor.h"
#include "trainer/model/functions.h"
#include "trainer/model/reranking.h"
#include "trainer/model/similarity.h"
#include "trainer/model/update.h"

namespace berth {

class AttentionHead;
class AttentionPairs;
struct HeadView;

// Whether a result replaces what was there or is added to it, as dx at a residual.
enum class Into { kOverwrite, kAdd };

// The gradients of a dense layer's parameters. A null one is not computed.
struct LinearGradients {
  Tensor dw{};                // [N,K], fp32 or product_dtype()
  Tensor dbias{};             // [N], added to
  Into into_dw = Into::kAdd;  // kOverwrite where dw is not fp32
};

// The input of an activation, as forward stored it: fp32 or product_dtype().
struct Preactivation {
  ConstTensor values{};  // null: there was no activation
  Activation activation = Activation::kGelu;
};

// An adapter of a matrix [N,K]: the product of two narrow ones.
struct LowRankFactors {
  ConstTensor a, b;  // [R,K], [N,R]
  float scale = 1;
  int64_t column = 0;  // of y, where the adapted matrix's N outputs begin
};

// Where the gradients of an adapter go. A null da or db is not computed.
struct LowRankGradients {
  Tensor ddown;  // [T,R], scratch that is overwritten
  Tensor dx;     // [T,K]; may be x where it is overwritten
  Into into_dx = Into::kOverwrite;
  Tensor da{}, db{};  // [R,K], [N,R], added to
};

// The CPU's operations of a BERT-family training step. Products are made by OpenBLAS (fp32) or by
// our own micro-kernels (bf16); everything else is made by loops that were compiled for several
// instruction sets.
//
// Shape letters: T tokens of a packed batch, B sequences, R rows (all tokens, or some of them), H
// hidden, A heads, D = H/A, F feed-forward, V vocabulary, C classes. N and K are a matrix's outputs
// and inputs. Tensors are fp32 unless a comment says otherwise; ids are int32. An "operand" is a
// matrix that products read. It may be fp32 or product_dtype(), to which products round it anyway.
//
// An operation writes its Tensor arguments, and only reads its ConstTensor arguments. Forward
// operations overwrite their results. Backward operations overwrite gradients of activations (or
// add to them, where `Into` says so) and ADD to gradients of parameters. A null gradient is not
// computed.
//
// Operations run in the order of the calls and return when they are done. Not thread-safe: one
// caller at a time. Shapes and ids are asserted, not reported: the model checked them. Results do
// not depend on timing, and repeat on the same instruction set with the same number of threads.
class Kernels {
 public:
  // Borrows all of them. Without `bf16`, products are made in fp32. With `int8`, the products of
  // dense layers are made in int8. The object is then for inference only: there is no backward
  // pass.
  Kernels(ThreadPool& pool, const CpuLoops& loops, const Bf16Loops* bf16,
          const Int8Loops* int8 = nullptr);

  // Such as "cpu-fp32-avx2, OpenBLAS Haswell, 2 threads", for people and for state.json. Where two
  // descriptions differ, so may bits.
  std::string description() const;
  // The type to which products round their factors, except for matrices of few outputs. Products
  // sum in fp32. Activations that only products read in the backward pass are stored in this type.
  DType product_dtype() const { return bf16_ ? DType::kBF16 : DType::kF32; }

  // The type to which the factors of a dense layer are rounded: kFp32, kBf16 or kInt8.
  Precision precision() const;

  // Where the operations are recorded; null: nowhere.
  Profiler* profiler() const { return pool_.profiler(); }

  // ---- Elements ------------------------------------------------------------------------------
  void zero(Tensor x);
  void add(ConstTensor x, Tensor y);      // y += x, of the same shape
  void convert(ConstTensor x, Tensor y);  // y = x, of the same shape; each fp32 or bf16

  // ---- Memory and weights --------------------------------------------------------------------
  // A matrix [N,K] as the right factor of products, packed from `values`, which must outlive it.
  // Null values are not packed, but the result still knows its packed_bytes(). Products are the
  // same to the bit whatever the use. The kernels must outlive the result.
  std::unique_ptr<Weight> make_weight(ConstTensor values, WeightUse use);
  // Upper bound, in bytes, of the scratch memory that a training step uses beyond its tensors and
  // packed weights.
  size_t scratch_bytes(const ScratchExtent& extent) const;

  // ---- Embeddings ----------------------------------------------------------------------------
  // y [T,H] = word[ids.words] + position[ids.positions] + type[ids.types] + shared, row by row.
  void embedding_forward(const EmbeddingIds& ids, const EmbeddingTables& tables, Tensor y);
  // Adds dy [T,H] to the rows that forward read, except to rows that stand for padding.
  void embedding_backward(ConstTensor dy, const EmbeddingIds& ids, PaddingRows padding,
                          const EmbeddingGradients& gradients);

  // ---- Normalization and dropout -------------------------------------------------------------
  // Layer normalization over H (Ba et al. 2016, arXiv:1607.06450). x, y [T,H].
  void layer_norm_forward(ConstTensor x, const LayerNormParameters& parameters, Tensor y,
                          const NormStatistics& statistics);
  // Recomputes y, an operand, from rows that a forward pass normalized. The result is the same to
  // the bit.
  void layer_norm_recompute(const NormalizedRows& rows, const LayerNormParameters& parameters,
                            Tensor y);
  // Overwrites dx [T,H], which may be dy.
  void layer_norm_backward(ConstTensor dy, const NormalizedRows& rows,
                           const LayerNormParameters& parameters, Tensor dx,
                           const LayerNormGradients& gradients);

  // The end of both halves of an encoder layer, fused:
  //   sum = residual + dropout(x); y = layer_norm(sum). All are [T,H].
  void add_layer_norm_forward(ConstTensor x, const Residual& residual, const Dropout& dropout,
                              const StepState& state, const LayerNormParameters& parameters,
                              const AddLayerNormOutputs& outputs);
  // y [R,H] = the rows of the residual.
  void gather_residual(const Residual& residual, ConstTensor rows, Tensor y);
  // `rows` holds the sum. dresidual is the gradient of the sum, and dx = dropout(dresidual) is an
  // operand.
  void add_layer_norm_backward(ConstTensor dy, const NormalizedRows& rows, const Dropout& dropout,
                               const StepState& state, const LayerNormParameters& parameters,
                               const AddLayerNormGradients& gradients);

  // y = dropout(x), operands; y may be x. Dropout is linear, so its backward pass is the same call
  // on the gradient: dx = dropout(dy).
  void dropout(ConstTensor x, const Dropout& dropout, const StepState& state, Tensor y);

  // ---- Matrix products -----------------------------------------------------------------------
  // x, y, dx and dy are operands. A y or dx in bf16 is rounded once, from a sum in fp32. Weights of
  // fewer outputs than kLeastOutputs have fp32 operands only.
  //
  // y [T,N] = x [T,K] w^T + bias [N]. A null bias is not added.
  void linear_forward(ConstTensor x, const Weight& w, ConstTensor bias, Tensor y);
  // dx [T,K] = dy [T,N] w, or that is added to an fp32 dx. dw = dy^T x, summed in fp32, or that is
  // added to dw. The column sums of dy are added to dbias. Where `pre` is given, x is its
  // activation and dx becomes the gradient of `pre`; then dx is overwritten.
  void linear_backward(ConstTensor dy, ConstTensor x, const Weight& w, Tensor dx, Into into,
                       const LinearGradients& gradients, const Preactivation& pre = {});
  // pre = x w^T + bias, stored for backward in fp32 or product_dtype(). y = activation(pre),
  // computed from the stored values. GELU (Hendrycks and Gimpel 2016, arXiv:1606.08415) uses erf
  // (kGelu) or its tanh approximation (kGeluTanh).
  void linear_activation_forward(ConstTensor x, const Weight& w, ConstTensor bias,
                                 Activation activation, Tensor pre, Tensor y);

  // y = activation(x), operands; y may be x. Where `kept` is given, x is stored there (in fp32 or
  // product_dtype()), and y is computed from the stored values: a later call on them gives the same
  // bits.
  void activation_forward(ConstTensor x, Activation activation, Tensor y, Tensor kept = {});
  // Turns dy, an operand, into the gradient of x, in place.
  void activation_backward(ConstTensor x, Activation activation, Tensor dy);

  // A gated linear unit (Shazeer 2020, arXiv:2002.05202): y [R,F] = activation(a) * b, where x
  // [R,2F] is a beside b, all operands. Where `kept` is given, it is as in activation_forward.
  void gated_activation_forward(ConstTensor x, Activation activation, Tensor y, Tensor kept = {});
  // x [R,2F] and dy [R,F]; overwrites dx [R,2F]. All are operands.
  void gated_activation_backward(ConstTensor x, Activation activation, ConstTensor dy, Tensor dx);

  // Low-rank adaptation of a matrix (Hu et al. 2021, arXiv:2106.09685): down = x a^T; the adapter's
  // columns of y += scale * down b^T. x [T,K]. down [T,R] is stored for backward.
  void low_rank_forward(ConstTensor x, const LowRankFactors& adapter, Tensor down, Tensor y);
  // dy has the shape of y. x and down are the same as in the forward pass.
  void low_rank_backward(ConstTensor dy, ConstTensor x, ConstTensor down,
                         const LowRankFactors& adapter, const LowRankGradients& gradients);

  // ---- Convolution ---------------------------------------------------------------------------
  // Lays the S neighbours of each token (S odd, the token itself in the middle) side by side, so
  // that a convolution over the tokens of a sequence becomes a matrix product (im2col). x [T,H];
  // windows [T,H*S]. Element h of neighbour s is windows[t][h * S + s], the order in which
  // PyTorch's Conv1d keeps its weight. Neighbours beyond the ends of a sequence are 0.
  void unfold_windows(ConstTensor x, ConstTensor cu_seqlens, Tensor windows);
  // Its backward pass: dx[t] is the sum of the places where x[t] stood.
  void fold_windows(ConstTensor dwindows, ConstTensor cu_seqlens, Tensor dx);

  // ---- Attention -----------------------------------------------------------------------------
  // Rotary positions (Su et al. 2021, arXiv:2104.09864), in place: rotates each pair of
  // elements of each head (RotaryAngles) by the angle of the token's position, int32 [T]. Only the
  // first `columns` columns of x [T,...] are rotated. The backward pass rotates the gradient the
  // other way.
  void rotate(Tensor x, int64_t columns, ConstTensor positions, const RotaryAngles& angles);
  void rotate_backward(Tensor dx, int64_t columns, ConstTensor positions,
                       const RotaryAngles& angles);
  // Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762) inside each sequence of a
  // packed batch: a token attends to the tokens of its own sequence and to nothing else. The score
  // of query i and key j is q_i.k_j / sqrt(D). With relative positions, of which the distance i - j
  // selects row r, attention is disentangled (He et al. 2020, arXiv:2006.03654, equation 4), and
  // the score is (q_i.k_j + q_i.pk_r + k_j.pq_r) / sqrt(3D). With a position bias, row r of its
  // table is added to the scaled score. out [R,H]; log_sum_exp [R,A], of the scaled scores. Dropout
  // falls on the probabilities; its elements are counted by (query's token, head, place of the key
  // in its sequence). qkv, q and out are operands.
  void attention_forward(const AttentionInputs& inputs, const StepState& state, Tensor out,
                         Tensor log_sum_exp);
  // Computes the probabilities again from the inputs and log_sum_exp (Dao et al. 2022,
  // arXiv:2205.14135). Overwrites all gradients except the bias's. dout, out, dqkv and dq are
  // operands.
  void attention_backward(ConstTensor dout, const AttentionInputs& inputs, const StepState& state,
                          ConstTensor out, ConstTensor log_sum_exp,
                          const AttentionGradients& gradients);

  // ---- Rows and losses -----------------------------------------------------------------------
  // y[r] = x[rows[r]]; x [T,H], y [R,H], both of one type; rows int32 [R], distinct.
  void gather_rows(ConstTensor x, ConstTensor rows, Tensor y);
  // Its backward pass: x[rows[r]] = y[r], and all other rows of x become 0.
  void scatter_rows(ConstTensor y, ConstTensor rows, Tensor x);

  // means[b] = the mean of the rows of x from cu_seqlens[b] to cu_seqlens[b+1]; x [T,H], cu_seqlens
  // int32 [B+1], means [B,H].
  void sequence_means(ConstTensor x, ConstTensor cu_seqlens, Tensor means);
  // Its backward pass: overwrites dx [T,H].
  void sequence_means_backward(ConstTensor dmeans, ConstTensor cu_seqlens, Tensor dx);
  // maxima[b] = the largest of these rows in each column, and places [B,H], int32, the first row
  // that has it.
  void sequence_maxima(ConstTensor x, ConstTensor cu_seqlens, Tensor maxima, Tensor places);
  // Its backward pass: overwrites dx [T,H].
  void sequence_maxima_backward(ConstTensor dmaxima, ConstTensor places, Tensor dx);

  // Every loss adds the SUM of weight * loss over its rows to the state's loss_sum, and the sum of
  // the weights to the state's examples. It overwrites dlogits with the gradient of the first sum;
  // dlogits is null in evaluation. The numbers do not depend on the number of threads.

  // Softmax cross-entropy. targets: the labels, int32 [B]; a row with a negative label has no loss
  // and no weight. With smoothing (Szegedy et al. 2015, arXiv:1512.00567) the target is the label
  // with probability 1 - smoothing and any class with probability smoothing, as in
  // torch.nn.CrossEntropyLoss without weights of classes. A weight multiplies the whole loss.
  void cross_entropy(const LossInputs& inputs, float smoothing, StepState& state, Tensor dlogits);
  // The focal loss of a softmax (Lin et al. 2017, arXiv:1708.02002, equation 4): the loss of a row
  // whose label has the probability p is (1 - p)^gamma times its cross-entropy. Its factor is part
  // of the gradient. gamma > 0.
  void focal_cross_entropy(const LossInputs& inputs, double gamma, StepState& state,
                           Tensor dlogits);
  // The same as cross_entropy() for the logits x w^T + bias over a vocabulary, of which no more
  // than outputs.tile is in memory at a time. A first pass over the tiles of some rows finds each
  // row's log-sum-exp, as an online softmax does (Milakov and Gimelshein 2018, arXiv:1805.02867). A
  // second pass computes the logits again, turns each tile into gradients and multiplies these
  // while they are in the cache (Wijmans et al. 2024, arXiv:2411.09009). Where a tile is as wide as
  // the vocabulary, nothing is computed twice. So the gradients are made here, and there is no
  // backward operation. The second pass also draws samples, if they are wanted.
  void vocabulary_cross_entropy(const VocabularyInputs& inputs, const Weight& w, float smoothing,
                                StepState& state, const VocabularyOutputs& outputs);
  // The size that suits the tile for at most `rows` rows: 8 MB or less.
  static TileSize vocabulary_tile(int64_t rows, int64_t vocabulary);
  // The same beside a teacher's outputs; see DistillationLoss. teacher: its logits [B,C].
  void distilled_cross_entropy(const LossInputs& inputs, ConstTensor teacher,
                               const DistillationLoss& options, float smoothing, StepState& state,
                               Tensor dlogits);
  // The sum, or the mean, over a row of (logits - targets)^2; logits and targets [B,C].
  void mean_squared_error(const LossInputs& inputs, StepState& state, Tensor dlogits,
                          OverOutputs over = OverOutputs::kSum);
  // Binary cross-entropy of sigmoid(logits); targets [B,C], from 0 to 1. A row's loss is the mean
  // over its classes, so the mean over rows equals torch.nn.BCEWithLogitsLoss.
  void binary_cross_entropy(const LossInputs& inputs, StepState& state, Tensor dlogits);
  // The same with factors for each class of a row: the positive weight w of torch's pos_weight and
  // the factor of a focal loss, as torchvision's sigmoid_focal_loss without alpha has it. With the
  // target t and p = sigmoid(logit), the loss is
  //   -w t (1 - p)^gamma log p - (1 - t) p^gamma log(1 - p).
  void weighted_binary_cross_entropy(const LossInputs& inputs, const BinaryLoss& loss,
                                     StepState& state, Tensor dlogits);
  // The loss of a cross-encoder. logits [B,G] are of the G passages of each row; targets [B,G] are
  // null where the first passage is right and the others are wrong. A row's loss of pairs is their
  // mean.
  void reranking_loss(const LossInputs& inputs, const RerankingObjective& objective,
                      StepState& state, Tensor dlogits);
  // Where an answer starts and ends (Devlin et al. 2018, arXiv:1810.04805, section 4.2): each
  // column of logits has a softmax over the tokens of each sequence; a sequence's loss is half the
  // sum of both cross-entropies. A sequence whose start or end is negative has no loss and no
  // weight.
  void span_cross_entropy(const SpanLossInputs& inputs, StepState& state, Tensor dlogits);

  // How similar the two texts of each example are. outputs [B,1] are the cosines of their
  // embeddings (as torch.cosine_similarity). Where there are targets [B], the loss is the squared
  // error. dembeddings [B*G,H] is null in evaluation.
  void cosine_squared_error(const GroupInputs& inputs, StepState& state, Tensor outputs,
                            Tensor dembeddings);
  // Which text belongs to the first one of each example: softmax cross-entropy over its cosines
  // with all other texts of the batch, times a scale. These are the second texts of all examples,
  // then their third ones, and so on (Henderson et al. 2017, arXiv:1705.00652; called
  // MultipleNegativesRankingLoss). The example's own second text is right. Texts that the loss's
  // rule names are left out, which makes it GISTEmbedLoss. The guide compares its own vectors of
  // the texts where inputs.vectors are given, else the embeddings. No gradient flows through the
  // rule. The loss may contrast first texts, and second ones, with each other as well. outputs
  // [B,2]: the cosine of the first two texts, and whether it is the largest one of the first text
  // with a second text or a negative (1 or 0). scores [B,loss.columns()] is scratch memory.
  void in_batch_negatives(const GroupInputs& inputs, const RankingLoss& loss, StepState& state,
                          Tensor scores, Tensor outputs, Tensor dembeddings);
  // A teacher's scores of the other texts of each example are learnt: as differences to the score
  // of the second text (kMarginMse), or as a softmax (kDistillKl). The model's score is the dot
  // product of the first text with another one. The teacher's are inputs.scores or, where these
  // are null, the cosines of inputs.vectors.
  void text_score_loss(const GroupInputs& inputs, SimilarityLoss loss,
                       const SimilarityObjective& objective, StepState& state, Tensor dembeddings);
  // The embeddings learn inputs.vectors: by the squared error, averaged over numbers and texts
  // (kEmbeddingMse), or by 1 less their cosine (kEmbeddingCosine).
  void embedding_loss(const GroupInputs& inputs, SimilarityLoss loss, StepState& state,
                      Tensor dembeddings);
  // The other losses of two texts and a number, targets [B]. Where compares_rows(loss), the loss of
  // the batch counts as the loss of each row, and there are no weights. dembeddings [B*2,H].
  void pair_loss(const GroupInputs& inputs, SimilarityLoss loss,
                 const SimilarityObjective& objective, StepState& state, Tensor dembeddings);
  // How much the third text of an example lacks of being farther from the first one than the second
  // text is, by the objective's margin. dembeddings [B*3,H].
  void triplet_loss(const GroupInputs& inputs, const SimilarityObjective& objective,
                    StepState& state, Tensor dembeddings);
  // y [R,S] = the first S numbers of each row of x [R,H], scaled to length 1. lengths [R].
  void unit_prefixes(ConstTensor x, Tensor y, Tensor lengths);
  // Its backward pass: ADDS weight times the gradient to the first S numbers of each row of dx.
  void unit_prefixes_backward(ConstTensor dy, ConstTensor y, ConstTensor lengths, double weight,
                              Tensor dx);

  // ---- Optimizer -----------------------------------------------------------------------------
  // Adds the sum of the squares of all gradients to the state. A factored gradient is not
  // multiplied out: |dy^T x|^2 is the sum of the elementwise product of dy dy^T and x x^T (Li et
  // al. 2022, arXiv:2110.05679, section 4).
  void add_squares(std::span<const Gradient> gradients, StepState& state);
  // AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) with bias correction, as
  // torch.optim.AdamW: w -= rate * decay * w; w -= rate * m_hat / (sqrt(v_hat) + epsilon). The
  // gradient is multiplied by StepState::gradient_scale. Ranges are disjoint. Rows of a table that
  // have no mark are decayed, and nothing else of them is read or written; the marks are updated.
  // A factored gradient is multiplied out piece by piece and is never whole in memory.
  void adamw(std::span<const UpdateRange> ranges, const AdamWOptions& options,
             const StepState& state);
  // LAMB (You et al. 2019, arXiv:1904.00962), with bias correction. As adamw, but the whole step of
  // a range, u = m_hat / (sqrt(v_hat) + epsilon) + decay * w, is scaled by |w| / |u|. It is not
  // scaled if the range does not adapt, or if one of the two is 0. So each range is one parameter.
  // All of g, m and v are read and written, whatever the marks say. Gradients are fp32 and zeroed.
  void lamb(std::span<const UpdateRange> ranges, const AdamWOptions& options,
            const StepState& state);
  // The two halves of lamb(), for ranges that are parts of a parameter. The first one writes the
  // step to g and returns the sums of squares of the range. The second one takes the sums of the
  // whole parameter.
  LambSquares lamb_direction(const UpdateRange& range, const AdamWOptions& options,
                             const StepState& state);
  void lamb_apply(const UpdateRange& range, const LambSquares& squares, const StepState& state);

 private:
  // pool_.parallel_for with denormals flushed.
  void parallel(int64_t count, int64_t grain, const ThreadPool::Range& fn);
  // The least number of rows of `columns` elements worth a thread of its own.
  static int64_t row_grain(int64_t columns) { return std::max<int64_t>(1, 8192 / (columns + 1)); }
  // Records in a profiler a product that `thread` makes, or the pool.
  void count(const Product& product, int thread = 0) {
    Profiler* const profiler = pool_.profiler();
    if (profiler == nullptr || !profiler->is_on()) return;
    profiler->add_flops(thread, 2.0 * static_cast<double>(product.m) *
                                    static_cast<double>(product.n) *
                                    static_cast<double>(product.k));
  }
  // In fp32, on all threads.
  void multiply_narrow(const Product& product);
  // In bf16 if products of `weight` are in bf16. `right` is the packed form of the factor b, if
  // there is one.
  void multiply_by(const Weight& weight, const std::optional<Bf16Part>& right,
                   const Product& product, const TileFunction& after = {});
  // Takes and may change the sums of elements [at, at + count) of a result.
  using RowFunction = std::function<void(float* sums, int64_t at, int64_t count)>;
  // Makes the product of a dense layer, in int8 if the weight is, and hands out its sums row by
  // row. They lie in product.c or, where that is null, in scratch memory. `use` may be empty beside
  // a c.
  void multiply_by_rows(const Weight& w, const std::optional<Bf16Part>& right,
                        const Product& product, const RowFunction& use);
  // As keep_row(), but past the caches where the tensor is large and the instruction set can.
  void store_row(const float* sums, Tensor y, int64_t at, int64_t count) const;
  // Rounds numbers that will be kept in this type.
  void round_as(DType dtype, float* x, int64_t count) const;
  // Writes the logits of a tile, of inputs.x.rows() rows and w.values().rows() columns, to
  // `logits`.
  void vocabulary_logits(const VocabularyInputs& inputs, const Weight& w, const Tile& tile,
                         Tensor logits);
  // Adds what the gradient of a tile's logits gives to the other gradients. The first tile of some
  // rows overwrites dx.
  void add_vocabulary_gradients(const VocabularyInputs& inputs, const Weight& w, const Tile& tile,
                                ConstTensor dlogits, const VocabularyOutputs& outputs);
  // Makes dw = dy^T x, or adds it to dw. A dw in bf16 is always overwritten.
  void weight_gradient(const Weight& weight, ConstTensor dy, ConstTensor x, Tensor dw, Into into);
  // Makes a small product on the calling thread, which is number `thread` of the pool. It is in
  // bf16 if large products are.
  void multiply_alone(const Product& product, int thread);
  // The phases of in_batch_negatives() behind its cosines. Scores that the loss leaves out become
  // minus infinity. Then the gradients take the place of the scores. The backward pass of the
  // cosines overwrites dembeddings.
  void leave_out_scores(const GroupInputs& inputs, const RankingLoss& loss, Tensor scores);
  void ranking_cross_entropy(const GroupInputs& inputs, const RankingLoss& loss, StepState& state,
                             Tensor scores, Tensor dembeddings);
  void cosines_backward(const GroupInputs& inputs, const RankingLoss& loss, ConstTensor dcosines,
                        Tensor dembeddings);
  // The sums of squares of blocks of a gradient, which do not depend on the number of threads.
  std::vector<double> squares_of_blocks(ConstTensor x);
  std::vector<double> squares_of_marked_rows(ConstTensor x, ConstTensor marks);
  // |dy^T x|^2 of each of them.
  std::vector<double> squares_of_products(std::span<const FactoredGradient> gradients);
  // Elements of scratch that each thread needs for factored gradients.
  int64_t factored_room(const FactoredExtent& extent) const;
  int64_t make_factored_room(const FactoredExtent& extent);
  float* room_of(int thread, int64_t room) const {
    return reinterpret_cast<float*>(factored_.data()) + thread * room;
  }
  // Both factors in fp32. These are the factors themselves, or copies in `room` if they are bf16.
  FactoredGradient in_fp32(const FactoredGradient& g, float* room) const;
  // |dy^T x|^2. `room` is scratch memory.
  double squares_of(const FactoredGradient& g, float* room, int thread);
  void adamw_of_products(std::span<const UpdateRange> ranges, const AdamWOptions& options,
                         const StepState& state);
  // Updates rows [begin, end) of a matrix with a factored gradient, on the calling thread.
  void update_matrix(const UpdateRange& range, int64_t begin, int64_t end,
                     const AdamWFactors& factors, float* room, int thread);
  // Elements [begin, end) of the range, on the calling thread.
  void update_range(const UpdateRange& range, int64_t begin, int64_t end,
                    const AdamWFactors& factors);
  using HeadFunction = std::function<void(const AttentionHead& head, const HeadView& view,
                                          int64_t part, std::vector<float>& scratch)>;
  // Calls fn for every head of every sequence, on the thread of the part to which it belongs.
  void for_each_head(const AttentionInputs& inputs, const AttentionPairs& pairs,
                     const std::optional<DropoutDraw>& draw, const HeadFunction& fn);
  void add_relative_sums(const AttentionPairs& pairs, Tensor drelative_qk);
  void add_bias_sums(const AttentionPairs& pairs, Tensor dbias) const;
  static constexpr int64_t kRowChunk = 1024;
  // Elements [at, at + count): keeps sums in `kept`, which may be the same memory.
  void keep_row(const float* sums, Tensor kept, int64_t at, int64_t count) const;
  // Elements [at, at + count) of x in fp32: these themselves, or copies in `room`.
  const float* widened(ConstTensor x, int64_t at, int64_t count, float* room) const;
  // Turns the gradient of elements [at, at + count) of an activation into the gradient of `pre`.
  void backward_row(const Preactivation& pre, int64_t at, int64_t count, float* dy) const;
  // The gradient of the sum goes to dresidual, and where that is null to dx.
  void backward_through_norm(ConstTensor dy, const NormalizedRows& rows,
                             const LayerNormParameters& parameters,
                             const std::optional<DropoutDraw>& draw,
                             const AddLayerNormGradients& gradients);
  void add_column_sums(ConstTensor x, Tensor sums);
  // The betas of a normalization, which are zeros where they are null.
  const float* betas_of(const LayerNormParameters& parameters);
  // Row `row` of the residual, perhaps made in `room`. `beta` are the betas of its normalization.
  const float* residual_row(const Residual& residual, const float* beta, int64_t row,
                            float* room) const;
  void rotate_by(float direction, Tensor x, int64_t columns, ConstTensor positions,
                 const RotaryAngles& angles);

  ThreadPool& pool_;
  const CpuLoops& loops_;
  std::optional<Bf16Products> bf16_;
  std::optional<Int8Products> int8_;
  std::vector<std::vector<float>> attention_scratch_;  // one for each thread
  std::vector<std::vector<float>> relative_sums_;      // of its backward pass, one for each part
  std::vector<float> zeros_;  // as betas, of the widest normalization so far
  Memory factored_;           // scratch of factored gradients; cache lines begin at its tiles
};

}  // namespace berth
