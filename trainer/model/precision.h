#pragma once

#include <string_view>

namespace berth {

// The type to which the factors of large matrix products are rounded. Sums, statistics and the
// optimizer stay in fp32. kAuto is bf16 where the device multiplies bf16 natively, else fp32. kInt8
// is for inference only.
enum class Precision { kAuto, kFp32, kBf16, kInt8 };

constexpr std::string_view name_of(Precision precision) {
  constexpr std::string_view kNames[] = {"auto", "fp32", "bf16", "int8"};
  return kNames[static_cast<size_t>(precision)];
}

}  // namespace berth
