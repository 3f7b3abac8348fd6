#include "trainer/xla/self_check.h"

#include <cmath>

#include "tests/support/scratch_directory.h"
#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"
#include "tests/trainer/xla/pjrt/plugins/real_plugin.h"

namespace berth {
namespace {

struct SelfCheckTest : WithFakePlugin {
  PjrtPlugin plugin{BERTH_FAKE_PLUGIN};
  PjrtClient client{plugin};
};

// The outputs of all programs of the fake plugin are zeros.
TEST_F(SelfCheckTest, PluginThatComputesSomethingElseIsRefused) {
  EXPECT_THAT([&] { check_computes_correctly(client, ExecutableCache("")); },
              ThrowsCode(Code::kUsage, "computes wrong numbers"));
}

TEST_F(SelfCheckTest, PluginThatCannotCompileIsRefused) {
  fail("Client_Compile", PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_THAT([&] { check_computes_correctly(client, ExecutableCache("")); },
              ThrowsCode(Code::kUsage,
                         "Client_Compile failed: the fake plugin was told to fail; use "
                         "another version of the plugin"));
}

TEST_F(SelfCheckTest, PluginThatHangsWhileItCompilesIsRefused) {
  control->hangs = "Client_Compile";
  {
    const PjrtClient passing(plugin);
    EXPECT_THAT([&] { check_computes_correctly(passing, ExecutableCache("", "", 0.05)); },
                ThrowsCode(Code::kUsage, "did not compile a program within 0.05 s"));
  }
  control->released = true;  // the thread that was left behind ends, and its client with it
  EXPECT_TRUE(eventually([&] { return control->alive.size() == 1; }));
}

TEST_F(SelfCheckTest, OutOfMemoryIsNoFaultOfThePlugin) {
  fail("Client_BufferFromHostBuffer", PJRT_Error_Code_RESOURCE_EXHAUSTED);
  EXPECT_THAT([&] { check_computes_correctly(client, ExecutableCache("")); },
              ThrowsCode(Code::kMemory));
}

// The gradients on the host, against finite differences of the loss.
TEST(CheckProgramTest, GradientsOnTheHostAreRight) {
  const std::vector<float> x = CheckProgram::x(), t = CheckProgram::t();
  const auto loss_of = [&](CheckProgram::State state) { return CheckProgram::step(state, x, t); };
  const CheckProgram::State first = CheckProgram::first_state();
  CheckProgram::State after = first;
  CheckProgram::step(after, x, t);
  // The first moments are 0.1 times the clipped gradients, whose common norm is 1.
  double norm = 0;
  const auto clipped = [&](size_t p, size_t i) {
    return after[CheckProgram::kParameters + p][i] / (1 - CheckProgram::kBeta1);
  };
  for (size_t p = 0; p < CheckProgram::kParameters; ++p) {
    for (size_t i = 0; i < first[p].size(); ++i) norm += std::pow(clipped(p, i), 2);
  }
  EXPECT_NEAR(norm, 1, 1e-5);
  // So their ratios are those of the slopes.
  std::vector<double> slopes, gradients;
  for (size_t p = 0; p < CheckProgram::kParameters; ++p) {
    for (const size_t i : {size_t{5}, first[p].size() - 3}) {
      CheckProgram::State up = first, down = first;
      up[p][i] += 0.01f;
      down[p][i] -= 0.01f;
      slopes.push_back((loss_of(up) - loss_of(down)) / (double{up[p][i]} - down[p][i]));
      gradients.push_back(clipped(p, i));
    }
  }
  const double scale = slopes[0] / gradients[0];
  for (size_t k = 0; k < slopes.size(); ++k) {
    EXPECT_NEAR(slopes[k], scale * gradients[k], 1e-3 * std::abs(slopes[0])) << k;
  }
}

class RightPlugins : public WithRealPlugin {};
INSTANTIATE_TEST_SUITE_P(Plugins, RightPlugins, kGoodPlugins, version_name);

TEST_P(RightPlugins, SelfCheckAccepts) {
  const ScratchDirectory scratch;
  const ExecutableCache cache(scratch / "cache");
  check_computes_correctly(*client, cache);
  check_computes_correctly(*client, cache);  // with programs from the cache
  EXPECT_LT(check_difference(*client, true, cache), 1e-5);
}

// This plugin computes wrong numbers from donated state on CPUs with AVX-512, and right ones on
// CPUs with AVX2 alone.
class WrongOnSomeCpus : public WithRealPlugin {};
INSTANTIATE_TEST_SUITE_P(Plugins, WrongOnSomeCpus, testing::Values("0.81"), version_name);

TEST_P(WrongOnSomeCpus, SelfCheckRefusesItWhereItIsWrong) {
  EXPECT_LT(check_difference(*client, false, ExecutableCache("")), 1e-5);
  if (check_difference(*client, true, ExecutableCache("")) < 1e-5) {
    check_computes_correctly(*client, ExecutableCache(""));
    return;
  }
  EXPECT_THAT(
      [&] { check_computes_correctly(*client, ExecutableCache("")); },
      ThrowsCode(Code::kUsage,
                 "pjrt-cpu-0.81.so: computes wrong numbers: the results of 4 steps of a small "
                 "training program with donated state differ from the host's by "));
}

}  // namespace
}  // namespace berth
