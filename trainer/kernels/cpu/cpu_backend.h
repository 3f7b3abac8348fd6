#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "trainer/kernels/cpu/bf16/bf16_products.h"
#include "trainer/kernels/cpu/loops.h"
#include "trainer/kernels/kernels.h"
#include "trainer/kernels/thread_pool.h"

namespace berth {

struct CpuStepState final : StepState {
  StepInputs inputs;
  uint64_t first_token = 0, first_sequence = 0;
  double loss_sum = 0, examples = 0, squares = 0;
  double grad_norm = 0;
  float gradient_scale = 0;
};

inline CpuStepState& cpu_state(StepState& state) { return static_cast<CpuStepState&>(state); }
inline const CpuStepState& cpu_state(const StepState& state) {
  return static_cast<const CpuStepState&>(state);
}

struct AttentionShape;
struct AttentionInputs;
struct AttentionGradients;

// What a Dropout comes to in this micro-batch; nullopt where nothing is dropped.
std::optional<DropoutDraw> draw_of(const Dropout& dropout, const StepState& state);

// The same draw for the rows from `row` on, as loops want it.
struct RowDraw {
  RowDraw(const std::optional<DropoutDraw>& draw, int64_t row) : draw_(draw) {
    if (!draw_) return;
    if (draw_->tokens != nullptr) {
      draw_->tokens += row;
    } else {
      draw_->first_row += static_cast<uint64_t>(row);
    }
  }
  const DropoutDraw* get() const { return draw_ ? &*draw_ : nullptr; }

 private:
  std::optional<DropoutDraw> draw_;
};

// A narrower matrix's products, a classifier's, stay in fp32: they cost nothing, and their results
// are what a job tells.
inline constexpr int64_t kLeastBf16Outputs = kPanelColumns / 2;

// OpenBLAS packs for itself: in fp32 the master is all there is.
struct CpuWeight final : Weight {
  CpuWeight(Tensor w, WeightUse use, const Bf16Products* products)
      : values(w), in_bf16(products != nullptr && w.rows() >= kLeastBf16Outputs) {
    if (!w || !in_bf16) return;  // null: a plan's
    const auto [packs_forward, packs_backward] = products->packs(use);
    if (packs_forward) forward = products->make_matrix(w.columns(), w.rows());
    if (packs_backward) backward = products->make_matrix(w.rows(), w.columns());
  }
  Tensor master() const override { return values; }

  Tensor values;
  bool in_bf16;                                 // whether its products are
  std::optional<Bf16Matrix> forward, backward;  // w^T and w as right factors
};

inline const CpuWeight& cpu_weight(const Weight& weight) {
  return static_cast<const CpuWeight&>(weight);
}

// The operations of kernels.h, with fp32 activations: each cuts its work into fixed parts for the
// pool, and runs the picked instruction set's loops on them. One .cpp file for each group of
// operations.
class CpuBackend final : public Kernels {
 public:
  // `bf16`: null for products in fp32.
  CpuBackend(ThreadPool& pool, const CpuLoops& loops, const Bf16Loops* bf16);

  std::string description() const override;
  DType activation_dtype() const override { return DType::kF32; }
  DType kept_dtype() const override { return product_dtype(); }
  DType product_dtype() const override { return bf16_ ? DType::kBF16 : DType::kF32; }

  std::unique_ptr<Memory> allocate(size_t size_bytes) override;
  void expect_sparse(Tensor x) override;
  void upload(Tensor to, const void* from) override;
  void download(void* to, Tensor from) override;
  void zero(Tensor x) override;
  void add(Tensor x, Tensor y) override;
  void convert(Tensor x, Tensor y) override;
  std::unique_ptr<Weight> make_weight(Tensor master, WeightUse use) override;
  void refresh(Weight& weight) override;
  size_t scratch_bytes(const AttentionExtent& extent) const override;
  size_t packed_bytes(int64_t rows, int64_t columns, WeightUse use) const override;
  size_t factored_scratch_bytes(int64_t tokens, int64_t rows_and_columns) const override;

  std::unique_ptr<StepState> make_step_state() override;
  void begin_step(StepState& state, const StepInputs& inputs) override;
  void begin_micro_batch(StepState& state, uint64_t first_token, uint64_t first_sequence) override;
  StepOutcome read_step(StepState& state) override;

  void embedding_forward(Tensor input_ids, Tensor position_ids, Tensor token_type_ids, Tensor word,
                         Tensor position, Tensor type, Tensor y) override;
  void embedding_backward(Tensor dy, Tensor input_ids, Tensor position_ids, Tensor token_type_ids,
                          PaddingRows padding, Tensor dword, Tensor word_marks, Tensor dposition,
                          Tensor dtype) override;

  void layer_norm_forward(Tensor x, Tensor gamma, Tensor beta, float epsilon, Tensor y, Tensor mean,
                          Tensor rstd) override;
  void layer_norm_again(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor rstd,
                        Tensor y) override;
  void layer_norm_backward(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor rstd, Tensor dx,
                           Tensor dgamma, Tensor dbeta) override;
  void add_layer_norm_forward(Tensor x, Tensor residual, Dropout dropout, const StepState& state,
                              Tensor gamma, Tensor beta, float epsilon, Tensor sum, Tensor y,
                              Tensor mean, Tensor rstd) override;
  void add_layer_norm_backward(Tensor dy, Tensor sum, Dropout dropout, const StepState& state,
                               Tensor gamma, Tensor mean, Tensor rstd, Tensor dx, Tensor dresidual,
                               Tensor dgamma, Tensor dbeta) override;
  void dropout(Tensor x, Dropout dropout, const StepState& state, Tensor y) override;

  void linear_forward(Tensor x, const Weight& w, Tensor bias, Tensor y) override;
  void linear_backward(Tensor dy, Tensor x, const Weight& w, Tensor dx, Into into,
                       const LinearGradients& gradients) override;
  void linear_activation_forward(Tensor x, const Weight& w, Tensor bias, Activation activation,
                                 Tensor pre, Tensor y) override;
  void linear_activation_backward(Tensor dy, Tensor pre, Activation activation, Tensor x,
                                  const Weight& w, Tensor dx, Into into,
                                  const LinearGradients& gradients) override;

  void activation_forward(Tensor y, Activation activation, Tensor pre) override;
  void activation_again(Tensor pre, Activation activation, Tensor y) override;

  void low_rank_forward(Tensor x, const Weight& a, const Weight& b, float scale, int64_t column,
                        Tensor down, Tensor y) override;
  void low_rank_backward(Tensor dy, int64_t column, Tensor x, Tensor down, const Weight& a,
                         const Weight& b, float scale, Tensor ddown, Tensor dx, Into into,
                         Tensor da, Tensor db) override;
  void convolution_forward(Tensor x, Tensor cu_seqlens, const Weight& w, Tensor bias,
                           Dropout dropout, Activation activation, const StepState& state,
                           Tensor windows, Tensor pre, Tensor y) override;
  void convolution_backward(Tensor dy, Tensor pre, Tensor windows, Tensor cu_seqlens,
                            const Weight& w, Dropout dropout, Activation activation,
                            const StepState& state, Tensor dwindows, Tensor dx, Tensor dw,
                            Tensor dbias) override;

  void attention_forward(Tensor qkv, Tensor cu_seqlens, int num_heads, Dropout dropout,
                         const StepState& state, Tensor out, Tensor log_sum_exp) override;
  void attention_backward(Tensor dout, Tensor qkv, Tensor out, Tensor log_sum_exp,
                          Tensor cu_seqlens, int num_heads, Dropout dropout, const StepState& state,
                          Tensor dqkv) override;
  void picked_attention_forward(Tensor q, Tensor kv, Tensor picked, Tensor cu_seqlens,
                                int num_heads, Dropout dropout, const StepState& state, Tensor out,
                                Tensor log_sum_exp) override;
  void picked_attention_backward(Tensor dout, Tensor q, Tensor kv, Tensor picked, Tensor out,
                                 Tensor log_sum_exp, Tensor cu_seqlens, int num_heads,
                                 Dropout dropout, const StepState& state, Tensor dq,
                                 Tensor dkv) override;

  void disentangled_attention_forward(Tensor qkv, const RelativeRows& relative, Tensor cu_seqlens,
                                      int num_heads, Dropout dropout, const StepState& state,
                                      Tensor out, Tensor log_sum_exp) override;
  void disentangled_attention_backward(Tensor dout, Tensor qkv, const RelativeRows& relative,
                                       Tensor out, Tensor log_sum_exp, Tensor cu_seqlens,
                                       int num_heads, Dropout dropout, const StepState& state,
                                       Tensor dqkv, Tensor dposition_qk) override;

  void gather_rows(Tensor x, Tensor rows, Tensor y) override;
  void gather_rows_backward(Tensor dy, Tensor rows, Tensor dx) override;
  void cross_entropy(Tensor logits, Tensor labels, Tensor weights, float smoothing,
                     StepState& state, Tensor dlogits) override;
  void mean_squared_error(Tensor logits, Tensor targets, Tensor weights, StepState& state,
                          Tensor dlogits) override;
  void binary_cross_entropy(Tensor logits, Tensor targets, Tensor weights, StepState& state,
                            Tensor dlogits) override;
  void span_cross_entropy(Tensor logits, Tensor cu_seqlens, Tensor starts, Tensor ends,
                          Tensor weights, StepState& state, Tensor dlogits) override;

  void add_squares(Tensor x, StepState& state) override;
  void add_squares_of_rows(Tensor x, Tensor marks, StepState& state) override;
  void add_squares_of_products(std::span<const FactoredGradient> gradients,
                               StepState& state) override;
  void finish_gradients(float max_grad_norm, StepState& state) override;
  void adamw(Tensor w, Tensor g, Tensor m, Tensor v, std::span<const UpdateRange> ranges,
             const AdamWOptions& options, const StepState& state) override;
  void adamw_of_products(Tensor w, std::span<const FactoredUpdate> updates, Tensor m, Tensor v,
                         const AdamWOptions& options, const StepState& state) override;
  void lamb(Tensor w, Tensor g, Tensor m, Tensor v, std::span<const UpdateRange> ranges,
            const AdamWOptions& options, const StepState& state) override;

 private:
  // pool_.parallel_for with denormals flushed.
  void parallel(int64_t count, int64_t grain, const ThreadPool::Range& fn);
  // The least number of rows of `columns` elements worth a thread of its own.
  static int64_t row_grain(int64_t columns) { return std::max<int64_t>(1, 8192 / (columns + 1)); }
  // In bf16 where products of `weight` are; `right`: its packed form that is b.
  void multiply_by(const CpuWeight& weight, const std::optional<Bf16Matrix>& right,
                   const Product& product, const TileFunction& after = {});
  // dw = dy^T x, or that added; of bf16 overwritten.
  void weight_gradient(const CpuWeight& weight, Tensor dy, Tensor x, Tensor dw, Into into);
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
