#include "trainer/cpu/gradient_form.h"

namespace berth {
namespace {

// The gradient of a smaller matrix stays in a cache between backward and the update, so nothing is
// gained by keeping it in another form.
constexpr int64_t kLeastElements = 1 << 17;

// Whether the gradient of a matrix [N,K] costs less as the factors of a batch of T tokens than as
// a matrix. The norm of dy^T x follows from dy dy^T and x x^T, which take T^2 (N + K)
// multiplications. The matrix must instead be written, read for the norm, read again for the
// update, and zeroed. Summed fp32 gradients were measured: the two cost the same at about 200
// multiplications for each element of the matrix. For a batch of one text, factors save half of the
// memory traffic of an update.
bool is_better_factored(const ParameterSpec& spec, int64_t tokens) {
  constexpr int64_t kMultiplicationsPerElement = 200, kMostTokens = 1024;
  return tokens <= kMostTokens && tokens * tokens * (spec.shape[0] + spec.shape[1]) <=
                                      kMultiplicationsPerElement * spec.elements();
}

// With more tokens than this, whole gradients stay in fp32. A gradient that is rounded to bf16 is
// summed over all tokens in the cache and rounded once, as PyTorch's autocast does. The norm and
// the update then read half as many bytes. With more tokens, such a product is slower than a
// blocked one, and the activations, whose memory the gradient reuses, have room for fp32. Measured
// with BERT-large at batch size 8: rounded gradients and weights that are not packed lowered the
// memory from 6.6 to 4.8 GiB. The speed changed by less than the machine's noise.
constexpr int64_t kMostTokensRounded = 8192;

// Whether one product of one batch can be the whole gradient of this matrix.
bool is_one_product(const ParameterSpec& spec, const GradientRule& rule) {
  return spec.is_product && rule.update_tokens > 0 && spec.elements() >= kLeastElements;
}

}  // namespace

GradientForm gradient_form(const ParameterSpec& spec, const GradientRule& rule) {
  if (!spec.trains) return GradientForm::kNone;
  if (!is_one_product(spec, rule)) return GradientForm::kSummed;
  const bool is_factored = !rule.is_shared && is_better_factored(spec, rule.update_tokens);
  return is_factored ? GradientForm::kFactored : GradientForm::kWhole;
}

int64_t kept_elements(const ParameterSpec& spec, GradientForm form, const GradientRule& rule) {
  switch (form) {
    case GradientForm::kNone:
    case GradientForm::kSummed:
      return 0;
    case GradientForm::kWhole:
      return spec.elements();
    case GradientForm::kFactored:
      return rule.update_tokens * (spec.shape[0] + spec.shape[1]);
  }
  return 0;
}

DType kept_gradient_dtype(DType product_dtype, const GradientRule& rule) {
  return rule.update_tokens > kMostTokensRounded ? DType::kF32 : product_dtype;
}

// A product with few rows packs each panel of the weight right before it uses it. A copy that is
// packed in every update would cost more than it saves.
WeightUse training_use(const ParameterSpec& spec, const GradientRule& rule) {
  const bool is_of_few_tokens =
      is_one_product(spec, rule) && is_better_factored(spec, rule.update_tokens);
  return is_of_few_tokens ? WeightUse::kTrainingOfFewTokens : WeightUse::kTraining;
}

}  // namespace berth
