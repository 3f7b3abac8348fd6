#pragma once

#include <cstdint>

#include "storage/base/dtype.h"
#include "trainer/cpu/kernels/weight_use.h"
#include "trainer/model/parameter_table.h"

namespace berth {

// How the gradient of a parameter is held from backward until the update.
enum class GradientForm {
  kNone,      // The parameter does not train: no gradient is computed.
  kSummed,    // An fp32 tensor of the parameter's shape, to which backward adds.
  kWhole,     // The one product dy^T x that is the gradient, written once.
  kFactored,  // The factors dy and x of that product. The update multiplies them.
};

// The rule that picks the form. `update_tokens` is the number of tokens in the largest batch, where
// every update is one batch; it is 0 where an update may sum the gradients of several. The form
// depends on nothing else, and never on the batch at hand, so a resumed run does the same.
GradientForm gradient_form(const ParameterSpec& spec, int64_t update_tokens);

// The elements that a gradient of this form takes beside the summed ones: a kWhole gradient, or
// the two factors of a kFactored one.
int64_t kept_elements(const ParameterSpec& spec, GradientForm form, int64_t update_tokens);

// The type of kWhole gradients and of factors: `product_dtype`, to which products round their
// factors anyway, or fp32 where batches are long.
DType kept_gradient_dtype(DType product_dtype, int64_t update_tokens);

// How the packed copies of a matrix are held while the model trains.
WeightUse training_use(const ParameterSpec& spec, int64_t update_tokens);

}  // namespace berth
