#include "storage/temporary_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

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
