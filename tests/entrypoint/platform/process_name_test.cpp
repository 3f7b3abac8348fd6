#include "entrypoint/platform/process_name.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
