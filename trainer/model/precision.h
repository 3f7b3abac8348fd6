#pragma once

namespace berth {

// The type to which the factors of large matrix products are rounded. Sums, statistics and the
// optimizer stay in fp32. kAuto is bf16 where the device multiplies bf16 natively, else fp32.
enum class Precision { kAuto, kFp32, kBf16 };

}  // namespace berth
