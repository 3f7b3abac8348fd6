#pragma once

namespace berth {

// The type that the factors of large matrix products are rounded to. Sums, statistics and the
// optimizer stay in fp32. kAuto takes bf16 where the device multiplies it natively.
enum class Precision { kAuto, kFp32, kBf16 };

}  // namespace berth
