#pragma once

#include <span>
#include <vector>

#include "tests/trainer/xla/stablehlo/interpreter.h"
#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable.h"

// The interpreter's arrays on a plugin's devices.
namespace berth {

inline PjrtBuffer to_device(const stablehlo::Array& array, const PjrtClient& client,
                            size_t device = 0) {
  using stablehlo::ElementType;
  const auto put = [&](const auto& values, DType dtype) {
    return client.upload(std::as_bytes(std::span(values)), dtype, array.type.shape,
                         client.devices()[device]);
  };
  switch (array.type.element) {
    case ElementType::kF32:
      return put(std::vector<float>(array.numbers.begin(), array.numbers.end()), DType::kF32);
    case ElementType::kS32:
      return put(std::vector<uint32_t>(array.words.begin(), array.words.end()), DType::kI32);
    default:
      return put(std::vector<uint32_t>(array.words.begin(), array.words.end()), DType::kU32);
  }
}

// Of f32.
inline stablehlo::Array from_device(const PjrtBuffer& buffer) {
  std::vector<float> values(buffer.size_bytes() / sizeof(float));
  buffer.download(std::as_writable_bytes(std::span(values)));
  return stablehlo::Array::of(buffer.dimensions(), {values.begin(), values.end()});
}

}  // namespace berth
