#pragma once

#include <pjrt_c_api.h>

#include <optional>

#include "storage/base/dtype.h"

namespace berth {

// PJRT's name of an element type; kBool is its PRED.
PJRT_Buffer_Type element_type_of(DType dtype);
// nullopt for the types that DType lacks.
std::optional<DType> dtype_of(PJRT_Buffer_Type type);

}  // namespace berth
