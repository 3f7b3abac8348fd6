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

// The facts that decide the form of gradients. It is the same in all updates and on all ranks, so a
// resumed run does the same.
struct GradientRule {
  // The tokens of the largest batch, where every update is one batch; 0 where an update may sum the
  // gradients of several. With several ranks, each rank has one, and this is an equal share of
  // them.
  int64_t update_tokens = 0;
  // Whether ranks add up their gradients, which they cannot do with factors.
  bool is_shared = false;
};

GradientForm gradient_form(const ParameterSpec& spec, const GradientRule& rule);

// The elements that a gradient of this form takes beside the summed ones: a kWhole gradient, or
// the two factors of a kFactored one.
int64_t kept_elements(const ParameterSpec& spec, GradientForm form, const GradientRule& rule);

// The type of kWhole gradients and of factors: `product_dtype`, to which products round their
// factors anyway, or fp32 where batches are long.
DType kept_gradient_dtype(DType product_dtype, const GradientRule& rule);

// How the packed copies of a matrix are held while the model trains.
WeightUse training_use(const ParameterSpec& spec, const GradientRule& rule);

}  // namespace berth
