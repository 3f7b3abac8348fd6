#include <utility>

#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"

namespace berth {
namespace {

// Whatever function fails, everything is destroyed once: the fixture checks that.
class PluginFailures : public WithFakePlugin {
 protected:
  // Calls nearly everything.
  void use() {
    const PjrtPlugin plugin(BERTH_FAKE_PLUGIN);
    const PjrtClient client(plugin);
    client.default_device_ids(1);
    client.memory_of(client.devices()[0]);
    PjrtBuffer a = upload(client, {1}), b = upload(client, {2});
    auto program = PjrtExecutable::compile(client, "donate outputs=2");
    program = PjrtExecutable::load(client, program.serialize());
    program.memory();
    program.flops();
    const PjrtArguments arguments = {&a, &b};
    PjrtResults results = program.execute({&arguments, 1});
    results.done[0].await();
    a = std::move(results.outputs[0][0]);
    download(a);
  }
};

TEST_F(PluginFailures, EachFunctionMayFail) {
  use();
  const std::map<std::string, int> functions = control->calls;
  EXPECT_GT(functions.size(), 25u);
  for (const auto& [function, count] : functions) {
    SCOPED_TRACE(function);
    fail(function, PJRT_Error_Code_RESOURCE_EXHAUSTED);
    try {
      use();
    } catch (const Error& error) {
      const std::string sentence = error.what();
      EXPECT_NE(sentence.find("failed: the fake plugin was told to fail"), sentence.npos)
          << sentence;
      EXPECT_EQ(sentence.find('\n'), sentence.npos);
    }
    // A failed destruction changes nothing but its own object, which the fake plugin keeps.
    if (function.ends_with("Destroy")) control->leave_behind();
    EXPECT_EQ(control->alive.size(), 0u);
    control->leave_behind();
  }
}

TEST_F(PluginFailures, OlderPluginsLackFunctions) {
  // The table ends before the statistics of memory, which the fake plugin has behind its end.
  control->struct_size = offsetof(PJRT_Api, PJRT_Executable_GetCompiledMemoryStats);
  use();
  EXPECT_EQ(control->calls.count("Executable_GetCompiledMemoryStats"), 0u);
  EXPECT_EQ(control->calls["Executable_Serialize"], 1);
  // The whole of a function's entry must be inside.
  control->struct_size = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Buffer_ToHostBuffer) - 1;
  EXPECT_THAT(
      [&] { use(); },
      ThrowsCode(Code::kUsage,
                 "the plugin has PJRT 0.70, which lacks Buffer_ToHostBuffer; use a plugin"));
}

}  // namespace
}  // namespace berth
