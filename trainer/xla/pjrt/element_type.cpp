#include "trainer/xla/pjrt/element_type.h"

#include <array>
#include <utility>

namespace berth {
namespace {

constexpr std::array<std::pair<DType, PJRT_Buffer_Type>, 13> kTypes = {{
    {DType::kBool, PJRT_Buffer_Type_PRED},
    {DType::kU8, PJRT_Buffer_Type_U8},
    {DType::kI8, PJRT_Buffer_Type_S8},
    {DType::kI16, PJRT_Buffer_Type_S16},
    {DType::kU16, PJRT_Buffer_Type_U16},
    {DType::kI32, PJRT_Buffer_Type_S32},
    {DType::kU32, PJRT_Buffer_Type_U32},
    {DType::kI64, PJRT_Buffer_Type_S64},
    {DType::kU64, PJRT_Buffer_Type_U64},
    {DType::kF16, PJRT_Buffer_Type_F16},
    {DType::kBF16, PJRT_Buffer_Type_BF16},
    {DType::kF32, PJRT_Buffer_Type_F32},
    {DType::kF64, PJRT_Buffer_Type_F64},
}};

}  // namespace

PJRT_Buffer_Type element_type_of(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == dtype) return theirs;
  }
  return PJRT_Buffer_Type_INVALID;
}

std::optional<DType> dtype_of(PJRT_Buffer_Type type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  return std::nullopt;
}

}  // namespace berth
