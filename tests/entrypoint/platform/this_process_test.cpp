#include "entrypoint/platform/this_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

using testing::HasSubstr;

TEST(ProcessIdentity, OfARunningProcessHasNotEnded) {
  ASSERT_NE(process_identity(), "");
  EXPECT_FALSE(has_process_ended(process_identity()));
  EXPECT_TRUE(is_process_running(process_identity()));
}

TEST(ProcessIdentity, OfAProcessThatIsGoneHasEnded) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string identity = process_identity();
    const ssize_t written = ::write(ends[1], identity.data(), identity.size());
    ::_exit(written > 0 ? 0 : 1);
  }
  char text[256] = {};
  ASSERT_GT(::read(ends[0], text, sizeof text - 1), 0);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(has_process_ended(text));
  EXPECT_FALSE(is_process_running(text));
}

// A number is given to another process one day.
TEST(ProcessIdentity, OfTheSameNumberAndAnotherStartHasEnded) {
  EXPECT_TRUE(has_process_ended(process_identity() + "1"));
}

TEST(ProcessIdentity, OfAnotherSystemIsNotKnown) {
  EXPECT_FALSE(has_process_ended("another-boot pid:[1] 1 1"));
  EXPECT_FALSE(is_process_running("another-boot pid:[1] 1 1"));
  EXPECT_FALSE(has_process_ended(""));
  EXPECT_FALSE(has_process_ended("not an identity"));
  std::string path = process_identity();
  path.replace(path.rfind(' '), std::string::npos, "/../../x 1");
  EXPECT_FALSE(has_process_ended(path));
}

constexpr const char* kRole = "BERTH_RUN_SELF_TEST";

// This test program is also the child: it plays the part that a variable names, before main().
const bool is_child = [] {
  const char* role = std::getenv(kRole);
  if (role == nullptr) return false;
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "-" : value;
  };
  const std::string_view part = role;
  if (part == "tells") {
    std::printf("TMPDIR %s AIP_MODEL_DIR %s OTHER %s\n", text("TMPDIR"), text("AIP_MODEL_DIR"),
                text("OTHER"));
    std::fprintf(stderr, "to standard error\n");
    std::exit(0);
  }
  if (part == "is killed") ::raise(SIGKILL);
  if (part == "waits") std::this_thread::sleep_for(std::chrono::minutes(10));
  if (part == "outlives") {
    end_with_parent(::getppid() + 1);  // as if the parent had been another process
    std::exit(0);
  }
  std::exit(7);
}();

class RunSelfTest : public testing::Test {
 protected:
  ~RunSelfTest() override { ::unsetenv(kRole); }

  std::optional<ProcessEnd> run(const char* role) {
    ::setenv(kRole, role, 1);
    const std::vector<std::string> arguments = {"--one"};
    return run_self(arguments, scratch_ / "log", scratch_ / "temporary", stop_);
  }

  ScratchDirectory scratch_;
  std::atomic<bool> stop_ = false;
};

TEST_F(RunSelfTest, KeepsWhatItPrintsAndHidesWhatIsAboutOneJob) {
  ::setenv("AIP_MODEL_DIR", "gs://b/model", 1);
  ::setenv("OTHER", "stays", 1);
  const std::optional<ProcessEnd> end = run("tells");
  ::unsetenv("AIP_MODEL_DIR");
  ::unsetenv("OTHER");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(end->signal, 0);
  const std::string log = read_text(scratch_ / "log");
  EXPECT_THAT(log, HasSubstr("TMPDIR " + scratch_ / "temporary" + " AIP_MODEL_DIR - OTHER stays"));
  EXPECT_THAT(log, HasSubstr("to standard error"));
}

TEST_F(RunSelfTest, TellsTheExitCodeOrTheSignal) {
  EXPECT_EQ(run("fails").value().exit_code, 7);
  EXPECT_EQ(run("is killed").value().signal, SIGKILL);
  EXPECT_NE(run("is killed").value().exit_code, 0);
}

TEST_F(RunSelfTest, AStopKillsTheProcess) {
  std::jthread stopping([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop_ = true;
  });
  EXPECT_FALSE(run("waits"));
  EXPECT_FALSE(run("waits")) << "nothing is started after a stop";
}

TEST_F(RunSelfTest, AProcessWhoseParentIsGoneEndsAtOnce) {
  EXPECT_EQ(run("outlives").value().exit_code, 128 + SIGKILL);
}

}  // namespace
}  // namespace berth
