#pragma once

#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/executable_cache.h"

namespace berth {

// Runs a small training program on the client's first device, for several steps, with its state
// donated and not donated, and compares both with numbers computed on the host. A plugin may be
// silently wrong: xla-cpu-pjrt 0.0.1 (PJRT 0.81) computes wrong gradients from donated state.
// Throws kUsage, in one sentence, where the numbers differ. `cache` saves the compilation, which
// takes nearly all of the time.
void check_computes_correctly(const PjrtClient& client, const ExecutableCache& cache);

// The largest difference between the device's numbers and the host's, relative to how far the
// numbers move in these steps: what check_computes_correctly() compares with its tolerance.
double check_difference(const PjrtClient& client, bool donated, const ExecutableCache& cache);

}  // namespace berth
