#include "storage/file_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

TEST(FileLock, OnlyOneHoldsIt) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "lease.json";
  {
    const auto first = FileLock::take(path, "first");
    ASSERT_TRUE(first);
    EXPECT_THAT([&] { FileLock::take(path, "second"); },
                ThrowsCode(Code::kInUse, "another process holds it: first"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock::take(path, "second"));
}

TEST(FileLock, IsReleasedWhenItsProcessIsKilled) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "lease.json";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileLock::take(path, "child");
    const char told = lock ? 'y' : 'n';
    if (::write(ready[1], &told, 1) == 1) ::pause();
    ::_exit(1);
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  EXPECT_EQ(told, 'y');
  EXPECT_THAT([&] { FileLock::take(path, "parent"); },
              ThrowsCode(Code::kInUse, "another process holds it: child"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock::take(path, "parent"));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FileLock, CannotBeTakenWithoutADirectory) {
  EXPECT_FALSE(FileLock::take("/no/such/directory/lease.json", "anyone"));
}

}  // namespace
}  // namespace berth
