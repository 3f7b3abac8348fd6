#pragma once

#include <optional>
#include <string_view>

#include "storage/base/dtype.h"

namespace berth {

// The most floating-point operations that one device of a PJRT plugin does in a second, as its
// maker publishes them for dense matrix products: in bf16 with fp32 sums, or in fp32 without
// rounding to TF32 or bf16. `kind` is PjrtDevice::kind. nullopt where no number is published, as
// for fp32 on TPUs, or where the kind is not in the table.
std::optional<double> peak_flops(std::string_view kind, DType product_dtype);

}  // namespace berth
