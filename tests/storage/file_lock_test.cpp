#include "storage/file_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
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
                ThrowsCode(Code::kInUse, R"(another process holds it: {"holder": "first"})"));
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
              ThrowsCode(Code::kInUse, R"(another process holds it: {"holder": "child"})"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock::take(path, "parent"));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FileLock, CannotBeTakenWithoutADirectory) {
  EXPECT_THAT([&] { FileLock::take("/no/such/directory/lease.json", "anyone"); },
              ThrowsCode(Code::kNotFound, "lease.json"));
}

TEST(FileLock, TakesOverWhatAKilledProcessLeft) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "lease.json";
  write_text(path, FileLock::text_of("a holder with a long name"));
  const auto lock = FileLock::take(path, "next");
  ASSERT_TRUE(lock);
  EXPECT_EQ(read_text(path), R"({"holder": "next"})");
}

// Someone who may write to the directory must not make us write to another file.
TEST(FileLock, RefusesWhatIsNotALockFileAndLeavesItAsItIs) {
  const ScratchDirectory scratch;
  const std::string victim = scratch / "victim", path = scratch / "lease.json";
  write_text(victim, "precious");
  const auto refused = [&](const char* why) {
    EXPECT_THAT([&] { FileLock::take(path, "holder"); }, ThrowsCode(Code::kNotPermitted, why));
    EXPECT_EQ(read_text(victim), "precious");
    std::filesystem::remove(path);
  };
  std::filesystem::create_symlink(victim, path);
  refused("is a symbolic link");
  std::filesystem::create_symlink(scratch / "absent", path);
  refused("is a symbolic link");
  EXPECT_FALSE(std::filesystem::exists(scratch / "absent"));
  std::filesystem::create_hard_link(victim, path);
  refused("has another name");
  std::filesystem::copy_file(victim, path);
  refused("holds other data");
  std::filesystem::create_directory(path);
  refused("is a directory");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  refused("is not a regular file");
}

TEST(FileLock, IsNotHeldOnceItsDirectoryWasRemoved) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "job");
  const std::string path = scratch / "job/lease.json";
  const auto lock = FileLock::take(path, "first");
  EXPECT_NO_THROW(lock->require_held());
  std::filesystem::remove_all(scratch / "job");
  EXPECT_THAT([&] { lock->require_held(); }, ThrowsCode(Code::kNotFound, "was removed"));
}

TEST(FileLock, LeavesTheFileOfAnotherProcessAlone) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "lease.json";
  {
    const auto first = FileLock::take(path, "first");
    std::filesystem::remove(path);
    write_text(path, FileLock::text_of("second"));
    EXPECT_THAT([&] { first->require_held(); }, ThrowsCode(Code::kInUse, "second"));
    write_text(path, FileLock::text_of("first"));  // under another number
    EXPECT_NO_THROW(first->require_held());
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace berth
