#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// The types of tensors' elements. Thread-safe. Throws nothing.
namespace berth {

// Element types of tensors, on disk and in memory.
enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64
};

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
      return 1;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kU64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

// The elements of a tensor of this shape.
constexpr int64_t element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// The names that safetensors uses: "F32", "BF16", "I64", "BOOL".
constexpr std::string_view name_of(DType dtype) {
  constexpr std::string_view kTypes[] = {"BOOL", "U8",  "I8",  "I16",  "U16", "I32", "U32",
                                         "I64",  "U64", "F16", "BF16", "F32", "F64"};
  return kTypes[static_cast<size_t>(dtype)];
}

// Conversions between float and the two 16-bit formats: IEEE binary16 (f16), and bfloat16, which is
// the upper half of a float. To 16 bits they round to nearest, ties to even; overflow gives
// infinity and NaN stays NaN.
uint16_t to_bf16(float value);
uint16_t to_f16(float value);

// These conversions are exact.
float from_bf16(uint16_t bits);
float from_f16(uint16_t bits);

}  // namespace berth
