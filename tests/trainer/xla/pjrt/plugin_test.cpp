#include "trainer/xla/pjrt/plugin.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "tests/support/scratch_directory.h"
#include "tests/trainer/xla/pjrt/fake_plugin_fixture.h"

namespace berth {
namespace {

const Error kLate(Code::kUsage, "late");

TEST(Deadline, WorkRunsOnAnotherThreadAndReturns) {
  const auto id = run_within<std::thread::id>(
      60, [] { return std::this_thread::get_id(); }, kLate);
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(Deadline, WhatWorkThrowsIsThrown) {
  EXPECT_THROW(run_within<int>(
                   60, []() -> int { throw std::out_of_range("work"); }, kLate),
               std::out_of_range);
}

TEST(Deadline, LateWorkIsLeftBehind) {
  const auto hang = [] {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return 1;
  };
  // The exit code stays, and what static objects do when they are destroyed is not done.
  EXPECT_EXIT(
      {
        std::atexit([] { std::_Exit(99); });
        try {
          run_within<int>(0.01, hang, kLate);
        } catch (const Error&) {
          std::exit(7);
        }
      },
      testing::ExitedWithCode(7), "");
}

using PluginTest = WithFakePlugin;

TEST_F(PluginTest, TellsItsVersions) {
  const PjrtPlugin plugin(BERTH_FAKE_PLUGIN);
  EXPECT_EQ(plugin.api_version(), "0.70");
  EXPECT_EQ(control->calls["Plugin_Initialize"], 1);
}

TEST_F(PluginTest, MissingFile) {
  EXPECT_THAT(
      [] { PjrtPlugin("/no/such/plugin.so"); },
      ThrowsCode(Code::kNotFound, "/no/such/plugin.so: no such file; name the shared library"));
}

TEST_F(PluginTest, FileThatIsNoLibrary) {
  const ScratchDirectory scratch;
  write_text(scratch / "plugin.so", "not a library");
  EXPECT_THAT([&] { PjrtPlugin(scratch / "plugin.so"); },
              ThrowsCode(Code::kUsage, "plugin.so: cannot be loaded: file too short"));
}

TEST_F(PluginTest, TruncatedLibrary) {
  const ScratchDirectory scratch;
  const std::string whole = read_text(BERTH_FAKE_PLUGIN);
  for (const size_t size : {0, 10, 64, 300, 3000, 8000}) {
    write_text(scratch / "plugin.so", whole.substr(0, size));
    EXPECT_THAT([&] { PjrtPlugin(scratch / "plugin.so"); },
                ThrowsCode(Code::kUsage, "plugin.so: cannot be loaded: "))
        << size;
  }
  write_text(scratch / "plugin.so", whole.substr(0, 8000));
  EXPECT_THAT([&] { PjrtPlugin(scratch / "plugin.so"); },
              ThrowsCode(Code::kUsage, "; download it again"));
}

TEST_F(PluginTest, LibraryWithoutTheFunction) {
  EXPECT_THAT([] { PjrtPlugin(BERTH_NO_PLUGIN); },
              ThrowsCode(Code::kUsage,
                         "has no function GetPjrtApi, so it is not a PJRT plugin; name "
                         "the shared library of a PJRT plugin"));
}

TEST_F(PluginTest, NoTable) {
  control->has_table = false;
  EXPECT_THAT([] { PjrtPlugin(BERTH_FAKE_PLUGIN); },
              ThrowsCode(Code::kUsage, "GetPjrtApi returned nothing"));
}

TEST_F(PluginTest, OtherMajorVersion) {
  control->major_version = 1;
  EXPECT_THAT([] { PjrtPlugin(BERTH_FAKE_PLUGIN); },
              ThrowsCode(Code::kUsage,
                         "is a plugin of PJRT's major version 1, but this program needs "
                         "0; use a plugin of that major version"));
}

TEST_F(PluginTest, TableTooShortForAVersion) {
  control->struct_size = sizeof(size_t);
  EXPECT_THAT([] { PjrtPlugin(BERTH_FAKE_PLUGIN); },
              ThrowsCode(Code::kUsage, "major version \"unknown\""));
}

TEST_F(PluginTest, TableTooShortForErrors) {
  control->struct_size = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Error_Destroy);
  EXPECT_THAT([] { PjrtPlugin(BERTH_FAKE_PLUGIN); },
              ThrowsCode(Code::kUsage, "cannot report errors"));
}

TEST_F(PluginTest, TableTooShortForInitialization) {
  control->struct_size = PJRT_STRUCT_SIZE(PJRT_Api, PJRT_Error_GetCode);
  EXPECT_THAT([] { PjrtPlugin(BERTH_FAKE_PLUGIN); },
              ThrowsCode(Code::kUsage, "the plugin has PJRT 0.70, which lacks Plugin_Initialize"));
}

TEST_F(PluginTest, FailedInitializationIsOneSentence) {
  fail("Plugin_Initialize");
  control->message = "no driver\n  at line 3\n\tat line 4.\n";
  EXPECT_THAT([] { PjrtPlugin(BERTH_FAKE_PLUGIN); },
              ThrowsCode(Code::kUsage,
                         "Plugin_Initialize failed: no driver at line 3 at line 4; check "
                         "that its device and the device's driver are present"));
}

TEST_F(PluginTest, HangingInitializationEndsAtTheDeadline) {
  control->hangs = "Plugin_Initialize";
  EXPECT_THAT([] { PjrtPlugin(BERTH_FAKE_PLUGIN, 0.05); },
              ThrowsCode(Code::kUsage,
                         "the plugin did not start within 0.05 s; check that this "
                         "machine has its device, and that no other program uses it"));
  control->released = true;
  EXPECT_TRUE(eventually([&] { return control->calls["Plugin_Initialize"] == 1; }));
}

}  // namespace
}  // namespace berth
