#include <algorithm>
#include <cmath>

#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/xla/pjrt/plugins/real_plugin.h"
#include "trainer/xla/pjrt/executable_cache.h"
#include "trainer/xla/self_check.h"

namespace berth {
namespace {

// Trains the two layers of the self check.
class RealTraining : public WithRealPlugin {
 protected:
  void SetUp() override {
    WithRealPlugin::SetUp();
    if (IsSkipped()) return;
    const CheckProgram::State first = CheckProgram::first_state();
    for (size_t i = 0; i < first.size(); ++i) {
      state.push_back(upload(first[i], DType::kF32, CheckProgram::dimensions(i)));
    }
    const std::vector<int64_t> dimensions = {CheckProgram::kRows, CheckProgram::kInner};
    x = upload(CheckProgram::x(), DType::kF32, dimensions);
    t = upload(CheckProgram::t(), DType::kF32, dimensions);
  }

  // Starts one step and returns where its loss will be.
  PjrtBuffer start_step(const PjrtExecutable& program) {
    PjrtArguments arguments;
    for (const PjrtBuffer& buffer : state) arguments.push_back(&buffer);
    arguments.push_back(&x);
    arguments.push_back(&t);
    PjrtResults results = program.execute({&arguments, 1});
    old_state = std::move(state);
    state = std::move(results.outputs[0]);
    PjrtBuffer loss = std::move(state.back());
    state.pop_back();
    return loss;
  }

  std::vector<PjrtBuffer> state, old_state;
  PjrtBuffer x, t;
};
INSTANTIATE_TEST_SUITE_P(Plugins, RealTraining, kGoodPlugins, version_name);

TEST_P(RealTraining, DonatedStateTrainsAsTheHostDoes) {
  const auto program = PjrtExecutable::compile(*client, CheckProgram::text(true));
  constexpr size_t kSteps = 10;
  std::vector<float> losses(kSteps);
  PjrtEvent before;  // each loss is read while the next step runs
  for (size_t k = 0; k < kSteps; ++k) {
    const PjrtBuffer loss = start_step(program);
    before.await();
    before = loss.start_download(std::as_writable_bytes(std::span(&losses[k], 1)));
  }
  before.await();

  CheckProgram::State host = CheckProgram::first_state();
  for (size_t k = 0; k < kSteps; ++k) {
    const double loss = CheckProgram::step(host, CheckProgram::x(), CheckProgram::t());
    EXPECT_NEAR(losses[k] / loss, 1, 1e-5) << k;
  }
  for (size_t p = 0; p < CheckProgram::kParameters; ++p) {
    const std::vector<float> device = download(state[p]);
    double worst = 0;
    for (size_t i = 0; i < device.size(); ++i) {
      worst = std::max(worst, std::abs(double{device[i]} - host[p][i]));
    }
    EXPECT_LT(worst, 2e-5) << p;
    RecordProperty("largest_difference_" + std::to_string(p), std::to_string(worst));
  }
}

TEST_P(RealTraining, ReplicasHaveDonatedStateOfTheirOwn) {
  const auto program = PjrtExecutable::compile(*client, CheckProgram::text(true), {.replicas = 2});
  const CheckProgram::State first = CheckProgram::first_state();
  const std::vector<int64_t> dimensions = {CheckProgram::kRows, CheckProgram::kInner};
  std::vector<std::vector<PjrtBuffer>> states(2), inputs(2);
  for (size_t r = 0; r < 2; ++r) {
    for (size_t i = 0; i < first.size(); ++i) {
      const auto shape = CheckProgram::dimensions(i);
      states[r].push_back(upload(first[i], DType::kF32, shape, r));
    }
    // The second replica has x and t exchanged, so that it learns something else.
    inputs[r].push_back(
        upload(r == 0 ? CheckProgram::x() : CheckProgram::t(), DType::kF32, dimensions, r));
    inputs[r].push_back(
        upload(r == 0 ? CheckProgram::t() : CheckProgram::x(), DType::kF32, dimensions, r));
  }
  std::vector<CheckProgram::State> hosts(2, first);
  for (int k = 0; k < 5; ++k) {
    std::vector<PjrtArguments> arguments(2);
    for (size_t r = 0; r < 2; ++r) {
      for (const PjrtBuffer& buffer : states[r]) arguments[r].push_back(&buffer);
      for (const PjrtBuffer& buffer : inputs[r]) arguments[r].push_back(&buffer);
    }
    states = program.execute(arguments).outputs;
    const std::vector<float> x_host = CheckProgram::x(), t_host = CheckProgram::t();
    const double losses[] = {CheckProgram::step(hosts[0], x_host, t_host),
                             CheckProgram::step(hosts[1], t_host, x_host)};
    for (size_t r = 0; r < 2; ++r) {
      EXPECT_NEAR(download(states[r].back())[0] / losses[r], 1, 1e-5) << r;
      states[r].pop_back();
    }
  }
}

TEST_P(RealTraining, DonatedBuffersAreDeleted) {
  const auto program = PjrtExecutable::compile(*client, CheckProgram::text(true));
  start_step(program);
  for (const PjrtBuffer& buffer : old_state) {
    EXPECT_THAT([&] { download(buffer); }, ThrowsCode(Code::kInternal));
  }
  EXPECT_EQ(download(x), CheckProgram::x());
}

TEST_P(RealTraining, MemoryCountsDonatedStateOnce) {
  int64_t state_bytes = 0;
  for (const PjrtBuffer& buffer : state) state_bytes += static_cast<int64_t>(buffer.size_bytes());
  const auto donated = PjrtExecutable::compile(*client, CheckProgram::text(true)).memory();
  const auto copied = PjrtExecutable::compile(*client, CheckProgram::text(false)).memory();
  ASSERT_TRUE(donated.has_value() && copied.has_value());
  EXPECT_EQ(donated->aliased, state_bytes);
  EXPECT_EQ(copied->aliased, 0);
  EXPECT_GE(donated->arguments, state_bytes);
  EXPECT_GT(donated->temporary, 0);
}

TEST_P(RealTraining, LoadedProgramComputesTheSame) {
  const auto program = PjrtExecutable::compile(*client, CheckProgram::text(false));
  const auto loaded = PjrtExecutable::load(*client, program.serialize());
  EXPECT_EQ(loaded.outputs(), program.outputs());
  start_step(program);
  const std::vector<float> compiled = download(state[1]);
  state = std::move(old_state);
  start_step(loaded);
  EXPECT_EQ(download(state[1]), compiled);
}

TEST_P(RealTraining, BytesThatAreNoProgramAreRefused) {
  EXPECT_THAT([&] { PjrtExecutable::load(*client, "no program"); }, ThrowsCode(Code::kCorrupt));
}

TEST_P(RealTraining, CacheServesTheSecondCompilation) {
  const ScratchDirectory scratch;
  const ExecutableCache cache(scratch / "cache");
  CapturedLog log;
  cache.compile(*client, CheckProgram::text(true));
  const auto cached = cache.compile(*client, CheckProgram::text(true));
  EXPECT_EQ(log.lines(), "");
  CheckProgram::State host = CheckProgram::first_state();
  const double loss = CheckProgram::step(host, CheckProgram::x(), CheckProgram::t());
  EXPECT_NEAR(download(start_step(cached))[0] / loss, 1, 1e-5);
}

}  // namespace
}  // namespace berth
