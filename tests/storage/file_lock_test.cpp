#include "storage/file_lock.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

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

namespace fs = std::filesystem;

class TemporaryDirectoryTest : public testing::Test {
 protected:
  TemporaryDirectoryTest() {
    if (const char* before = ::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", scratch_.path().c_str(), 1);
  }
  ~TemporaryDirectoryTest() override {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }

  // Makes a process create a directory with a file in it, and kills the process.
  fs::path leave_one() {
    const pid_t child = ::fork();
    if (child == 0) {
      const TemporaryDirectory left("left");
      fs::create_directory(left.path() / "model");
      std::ofstream(left.path() / "model" / "weights") << "0123";
      ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    for (const fs::directory_entry& entry : fs::directory_iterator(scratch_.path())) {
      if (entry.path().filename().string().starts_with("berth-left-")) return entry.path();
    }
    return {};
  }

  const ScratchDirectory scratch_;
  std::optional<std::string> before_;
};

TEST_F(TemporaryDirectoryTest, IsRemovedWithItsOwner) {
  fs::path path;
  {
    const TemporaryDirectory temporary("model");
    path = temporary.path();
    EXPECT_EQ(path.parent_path(), fs::path(scratch_.path()));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directories(path / "a" / "b");
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryDirectoryTest, OneOfAKilledProcessIsRemovedByTheNext) {
  const fs::path left = leave_one();
  ASSERT_TRUE(fs::exists(left / "model" / "weights"));
  const TemporaryDirectory next("model");
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(TemporaryDirectoryTest, OneThatItsOwnerHasNotLockedYetStays) {
  const fs::path made = fs::path(scratch_.path()) / "berth-model-made";
  fs::create_directory(made);
  write_text(made / "in-use-by-berth", "");  // FileLock creates the file before it locks it
  const TemporaryDirectory next("model");
  EXPECT_TRUE(fs::exists(made));
}

TEST_F(TemporaryDirectoryTest, DirectoriesInUseAndForeignOnesStay) {
  const TemporaryDirectory used("model");
  const fs::path parent = used.path().parent_path(), others = parent / "berth-model-others";
  fs::create_directory(others);
  const TemporaryDirectory next("model");
  EXPECT_TRUE(fs::exists(used.path()));
  EXPECT_TRUE(fs::exists(others));
}

TEST_F(TemporaryDirectoryTest, OneOfAnotherMachineStays) {
  const fs::path left = leave_one();
  write_text(left / "in-use-by-berth", R"({"holder": "a process of elsewhere"})");
  const TemporaryDirectory next("model");
  EXPECT_TRUE(fs::exists(left / "model" / "weights"));
}

TEST_F(TemporaryDirectoryTest, ALinkIsNotFollowed) {
  const fs::path left = leave_one(), elsewhere = left.parent_path() / "elsewhere";
  fs::rename(left, elsewhere);
  fs::create_directory_symlink(elsewhere, left);
  const TemporaryDirectory next("model");
  EXPECT_TRUE(fs::exists(elsewhere / "model" / "weights"));
}

TEST_F(TemporaryDirectoryTest, NeedsAWritablePlace) {
  ::setenv("TMPDIR", "/proc", 1);
  EXPECT_THAT([] { TemporaryDirectory("model"); },
              ThrowsCode(Code::kNotPermitted, "cannot make a temporary directory"));
}

}  // namespace
}  // namespace berth
