#pragma once

#include "storage/base/thread_pool.h"

namespace berth {

// FLOP/s of all of the pool's threads together where nothing leaves their registers: the limit of
// any product of bf16, or fp32, factors with fp32 sums. 0: not known for this CPU.
double peak_rate(ThreadPool& pool, bool bf16);

}  // namespace berth
