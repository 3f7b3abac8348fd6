#include "trainer/xla/pjrt/executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/throws_code.h"
#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"

namespace berth {
namespace {

using namespace std::string_literals;

// The bytes that jax writes for one replica and one partition.
TEST(CompileOptions, OneReplica) {
  EXPECT_EQ(serialized({}),
            "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01"s);
}

TEST(CompileOptions, ManyReplicasTakeALongerVarint) {
  EXPECT_EQ(serialized({.replicas = 127}).substr(13, 2), "\x20\x7f"s);
  EXPECT_EQ(serialized({.replicas = 300}).substr(0, 2), "\x1a\x10"s);
  EXPECT_EQ(serialized({.replicas = 300}).substr(13), "\x20\xac\x02\x28\x01"s);
}

TEST(CompileOptions, Flags) {
  const std::string one = serialized({});
  const auto flag = [&](bool value) {
    return serialized({.flags = {{"k", value}}}).substr(one.size());
  };
  EXPECT_EQ(flag(true), "\x3a\x07\x0a\x01k\x12\x02\x10\x01"s);
  EXPECT_EQ(flag(false), "\x3a\x07\x0a\x01k\x12\x02\x10\x00"s);
}

TEST(CompileOptions, LongNamesTakeALongerLength) {
  const std::string name(200, 'x');
  const std::string bytes = serialized({.flags = {{name, true}}}).substr(serialized({}).size());
  EXPECT_EQ(bytes.substr(0, 6), "\x3a\xcf\x01\x0a\xc8\x01"s);
  EXPECT_EQ(bytes.size(), 3u + 0xcf);
}

// As xla.CompileOptionsProto's parser reads it: replica_count 2, computation_count 1, and the ids.
TEST(CompileOptions, DevicesOfReplicas) {
  const std::string assigned = serialized({.replicas = 2, .device_ids = {2, 300}});
  EXPECT_EQ(assigned.substr(assigned.size() - 13),
            "\x4a\x0b\x08\x02\x10\x01\x1a\x05\x08\x02\x08\xac\x02"s);
  EXPECT_THAT([] { serialized({.replicas = 2, .device_ids = {2}}); }, ThrowsCode(Code::kInternal));
}

TEST(CompileOptions, NoReplicaIsABug) {
  EXPECT_THAT([] { serialized({.replicas = 0}); }, ThrowsCode(Code::kInternal));
}

struct ExecutableTest : WithFakePlugin {
  PjrtPlugin plugin{BERTH_FAKE_PLUGIN};
  PjrtClient client{plugin};
};

TEST_F(ExecutableTest, ReturnsOutputsAndEvents) {
  const auto program = PjrtExecutable::compile(client, "copy outputs=2");
  const PjrtBuffer a = upload(client, {1}), b = upload(client, {2});
  const PjrtArguments arguments = {&a, &b};
  PjrtResults results = program.execute({&arguments, 1});
  ASSERT_EQ(results.outputs.size(), 1u);
  ASSERT_EQ(results.outputs[0].size(), 2u);
  EXPECT_EQ(download(results.outputs[0][1]), (std::vector<float>{2}));
  ASSERT_EQ(results.done.size(), 1u);
  results.done[0].await();
  EXPECT_EQ(download(a), (std::vector<float>{1}));
}

TEST_F(ExecutableTest, RunsOnADeviceForEachReplica) {
  const auto program = PjrtExecutable::compile(client, "copy replicas=2", {.replicas = 2});
  EXPECT_EQ(program.replicas(), 2u);
  const PjrtBuffer a = upload(client, {1}, 0), b = upload(client, {2}, 1);
  const std::vector<PjrtArguments> arguments = {{&a}, {&b}};
  const PjrtResults results = program.execute(arguments);
  EXPECT_EQ(download(results.outputs[1][0]), (std::vector<float>{2}));
  EXPECT_EQ(results.done.size(), 2u);
}

TEST_F(ExecutableTest, DonatedArgumentsAreDeleted) {
  const auto program = PjrtExecutable::compile(client, "donate outputs=2");
  const PjrtBuffer a = upload(client, {1}), b = upload(client, {2});
  const PjrtArguments arguments = {&a, &b};
  program.execute({&arguments, 1});
  EXPECT_THAT([&] { download(a); }, ThrowsCode(Code::kInternal));
  EXPECT_THAT([&] { program.execute({&arguments, 1}); }, ThrowsCode(Code::kInternal));
}

TEST_F(ExecutableTest, ArgumentsMustFitTheReplicas) {
  const auto program = PjrtExecutable::compile(client, "copy replicas=2", {.replicas = 2});
  const PjrtBuffer a = upload(client, {1});
  const std::vector<PjrtArguments> one = {{&a}}, uneven = {{&a}, {&a, &a}};
  EXPECT_THAT([&] { program.execute(one); },
              ThrowsCode(Code::kInternal, "of 2 replicas was given arguments for 1"));
  EXPECT_THAT([&] { program.execute(uneven); },
              ThrowsCode(Code::kInternal, "different numbers of arguments"));
}

TEST_F(ExecutableTest, TellsMemoryAndFlops) {
  const auto program = PjrtExecutable::compile(client, "copy");
  const auto memory = program.memory();
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->aliased, 90);
  EXPECT_EQ(memory->total(), 1000 + 100 - 90 + 8 + 1);
  EXPECT_EQ(program.flops(), 12);
}

TEST_F(ExecutableTest, TellsNothingIfThePluginFailsToTell) {
  const auto program = PjrtExecutable::compile(client, "copy");
  fail("Executable_GetCompiledMemoryStats", PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_FALSE(program.memory().has_value());
  fail("Executable_GetCostAnalysis", PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_FALSE(program.flops().has_value());
}

TEST_F(ExecutableTest, HangingCompilationEndsAtTheDeadline) {
  control->hangs = "Client_Compile";
  {
    const PjrtPlugin passing(BERTH_FAKE_PLUGIN);
    const PjrtClient shared(passing);
    EXPECT_THAT(
        [&] { PjrtExecutable::compile(shared, "copy", {}, 0.05); },
        ThrowsCode(Code::kUsage, "the plugin did not compile a program within 0.05 s; use"));
  }
  // The thread that is left behind destroys what it gets too late, and then its client.
  EXPECT_TRUE(eventually([&] { return control->calls["Client_Destroy"] == 0; }));
  control->released = true;
  EXPECT_TRUE(eventually([&] { return control->calls["Client_Destroy"] == 1; }));
  EXPECT_TRUE(eventually([&] { return control->alive.size() == 1; }));
}

TEST_F(ExecutableTest, IsTheSameAfterSerialization) {
  const std::string bytes = PjrtExecutable::compile(client, "copy replicas=2").serialize();
  EXPECT_EQ(bytes, "copy replicas=2");
  EXPECT_EQ(PjrtExecutable::load(client, bytes).replicas(), 2u);
  fail("Executable_DeserializeAndLoad");
  EXPECT_THAT([&] { PjrtExecutable::load(client, bytes); },
              ThrowsCode(Code::kCorrupt, "compile the program again"));
}

TEST_F(ExecutableTest, FailureOfTheDeviceIsThrownByTheEvent) {
  const auto program = PjrtExecutable::compile(client, "copy");
  const PjrtBuffer a = upload(client, {1});
  const PjrtArguments arguments = {&a};
  control->event_fails = "LoadedExecutable_Execute";
  PjrtResults results = program.execute({&arguments, 1});
  EXPECT_THAT([&] { results.done[0].await(); }, ThrowsCode(Code::kInternal, "Event_Await failed"));
}

TEST_F(ExecutableTest, AThousandExecutionsLeaveNothingBehind) {
  const auto program = PjrtExecutable::compile(client, "donate outputs=2");
  std::vector<PjrtBuffer> state;
  state.push_back(upload(client, {1}));
  state.push_back(upload(client, {2}));
  const size_t before = control->alive.size();
  for (int i = 0; i < 1000; ++i) {
    const PjrtArguments arguments = {&state[0], &state[1]};
    PjrtResults results = program.execute({&arguments, 1});
    state = std::move(results.outputs[0]);
    if (i % 3 == 0) results.done[0].await();
    if (i % 7 == 0) {
      EXPECT_EQ(download(state[1]), (std::vector<float>{2}));
    }
  }
  EXPECT_EQ(control->alive.size(), before);
  EXPECT_EQ(control->calls["LoadedExecutable_Execute"], 1000);
}

}  // namespace
}  // namespace berth
