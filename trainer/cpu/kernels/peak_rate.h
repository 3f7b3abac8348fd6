#pragma once

#include "storage/base/thread_pool.h"

namespace berth {

// The peak rate of the pool's threads together, in FLOP/s, as measured now. All threads run
// multiply-add instructions whose operands stay in registers. The peak rate is the limit of any
// matrix product with bf16 or fp32 factors and fp32 sums. Takes some 10 ms. 0: unknown for this
// CPU.
double peak_rate(ThreadPool& pool, bool bf16);

}  // namespace berth
