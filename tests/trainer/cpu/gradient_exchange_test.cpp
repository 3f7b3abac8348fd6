#include "trainer/cpu/gradient_exchange.h"

#include <gtest/gtest.h>

#include "storage/base/thread_pool.h"
#include "tests/support/rank_threads.h"
#include "tests/support/tiny_config.h"
#include "trainer/cpu/kernels/cpu_kernels.h"
#include "trainer/cpu/parameters.h"

namespace berth {
namespace {

// CPUs of two kinds round the norm of the same gradients otherwise.
TEST(GradientExchange, GivesAllRanksOneNorm) {
  run_ranks(3, [](Communicator& ranks) {
    ThreadPool pool(1);
    const std::unique_ptr<Kernels> kernels = make_cpu_kernels(pool);
    Parameters parameters(parameter_table(tiny_config(3)), true, *kernels);
    GradientExchange exchange(ranks, DType::kF32, parameters);
    StepState state;
    state.begin({});
    state.loss_sum = 1;
    state.examples = static_cast<double>(ranks.rank());
    state.squares = 4 + static_cast<double>(ranks.rank()) * 0x1p-50;
    exchange.sum(state);
    EXPECT_EQ(state.squares, 4);
    EXPECT_EQ(state.loss_sum, 3);
    EXPECT_EQ(state.examples, 3);
  });
}

}  // namespace
}  // namespace berth
