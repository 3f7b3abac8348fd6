#include "storage/local_storage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "storage/base/checksum.h"
#include "storage/file_descriptor.h"
#include "tests/support/mounted_bucket.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

// Root may write anywhere, so the cases about permissions run as another user.
class AsNobody {
 public:
  AsNobody() {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) throw std::runtime_error("seteuid");
  }
  ~AsNobody() {
    if (::getuid() == 0 && ::seteuid(0) != 0) std::abort();
  }
};

class LocalStorageTest : public testing::Test {
 protected:
  Uri at(const std::string& name) const { return Uri::parse(scratch_ / name); }

  Stat put(const std::string& name, const std::string& text, const WriteOptions& options = {}) {
    const auto sink = storage_->create(at(name), options);
    sink->write(as_bytes(text));
    return sink->close();
  }

  std::string get(const std::string& name, const ReadOptions& options = {}) {
    return std::string(as_text(read_all(*storage_->open(at(name), options), 1 << 20, name)));
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
      names.push_back(entry.path().lexically_relative(scratch_.path()).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(LocalStorageTest, ReadsWhatItWrote) {
  const Stat written = put("a.txt", "hello");
  EXPECT_EQ(get("a.txt"), "hello");
  EXPECT_EQ(written.size, 5u);
  EXPECT_EQ(written.crc32c, crc32c(as_bytes("hello")));
  EXPECT_EQ(written.name, scratch_ / "a.txt");
  EXPECT_EQ(storage_->stat(at("a.txt"))->generation, written.generation);
  EXPECT_EQ(files(), std::vector<std::string>{"a.txt"});
}

TEST_F(LocalStorageTest, WritesALargeFileThatIsNotReadSoon) {
  const std::string text((size_t{1} << 20) + 12'345, 'x');
  const Stat written =
      put("a.txt", text, {.if_generation = {}, .size_hint = text.size(), .is_read_soon = false});
  EXPECT_TRUE(as_text(read_all(*storage_->open(at("a.txt")), 1 << 22, "a.txt")) == text);
  EXPECT_EQ(written.size, text.size());
  EXPECT_EQ(written.crc32c, crc32c(as_bytes(text)));
  EXPECT_EQ(files(), std::vector<std::string>{"a.txt"});
}

TEST_F(LocalStorageTest, ReadsOnlyPipesThatAreNamed) {
  const std::string pipe = at("pipe").path();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT([&] { get("pipe"); }, ThrowsCode(Code::kBadData, "is a named pipe"));
  const std::jthread writer([&pipe] { std::ofstream(pipe) << "text"; });
  storage_ = make_local_storage({"other", pipe});
  EXPECT_EQ(get("pipe"), "text");
}

TEST_F(LocalStorageTest, ReadsOnlyDevicesThatAreNamed) {
  std::filesystem::create_symlink("/dev/null", at("link").path());
  EXPECT_THAT([&] { get("link"); }, ThrowsCode(Code::kBadData, "is a device"));
  storage_ = make_local_storage({at("link").path()});
  EXPECT_EQ(get("link"), "");
}

TEST_F(LocalStorageTest, MakesMissingDirectories) {
  put("a/b/c.txt", "x");
  EXPECT_EQ(get("a/b/c.txt"), "x");
}

TEST_F(LocalStorageTest, NothingAppearsBeforeClose) {
  put("a.txt", "old");
  {
    const auto sink = storage_->create(at("a.txt"), {});
    sink->write(as_bytes("new"));
    EXPECT_EQ(get("a.txt"), "old");
    EXPECT_EQ(storage_->list(at("")).size(), 1u);  // the temporary file is not listed
    EXPECT_EQ(files().size(), 2u);
  }
  EXPECT_EQ(get("a.txt"), "old");
  EXPECT_EQ(files(), std::vector<std::string>{"a.txt"});
}

TEST_F(LocalStorageTest, WritesFilesThatOthersMayRead) {
  const mode_t mask = ::umask(022);
  put("a.txt", "x");
  ::umask(mask);
  EXPECT_EQ(fs::status(scratch_ / "a.txt").permissions(), fs::perms(0644));
}

TEST_F(LocalStorageTest, WritesTheLongestPossibleName) {
  const std::string name(255, 'n');
  put(name, "x");
  EXPECT_EQ(get(name), "x");
  EXPECT_THAT([&] { put(std::string(256, 'n'), "x"); }, ThrowsCode(Code::kUsage, "too long"));
}

TEST_F(LocalStorageTest, ReadsARangeUpToTheEndOfTheFile) {
  put("a.txt", "0123456789");
  EXPECT_EQ(get("a.txt", {.offset = 3, .length = 4, .generation = {}}), "3456");
  EXPECT_EQ(get("a.txt", {.offset = 8, .length = 4, .generation = {}}), "89");
  EXPECT_EQ(get("a.txt", {.offset = 10, .length = {}, .generation = {}}), "");
  EXPECT_EQ(get("a.txt", {.offset = UINT64_MAX, .length = {}, .generation = {}}), "");
  EXPECT_EQ(get("a.txt", {.offset = 0, .length = 0, .generation = {}}), "");
}

TEST_F(LocalStorageTest, ReadsTheVersionThatWasAskedForOrNone) {
  const Generation first = put("a.txt", "one").generation;
  EXPECT_EQ(get("a.txt", {.offset = 0, .length = {}, .generation = first}), "one");
  put("a.txt", "two");
  EXPECT_THAT([&] { get("a.txt", {.offset = 0, .length = {}, .generation = first}); },
              ThrowsCode(Code::kNotFound, "replaced"));
}

TEST_F(LocalStorageTest, AReaderKeepsItsVersionWhileTheFileIsReplaced) {
  put("a.txt", "one");
  const auto source = storage_->open(at("a.txt"));
  put("a.txt", "two");
  EXPECT_EQ(as_text(read_all(*source, 100, "a")), "one");
}

TEST_F(LocalStorageTest, CreateOnlyRefusesWhatExists) {
  const WriteOptions create_only{.if_generation = 0, .size_hint = {}};
  put("a.txt", "one", create_only);
  EXPECT_THAT([&] { put("a.txt", "two", create_only); }, ThrowsCode(Code::kInUse, "a.txt"));
  EXPECT_EQ(get("a.txt"), "one");
}

TEST_F(LocalStorageTest, CreateOnlyLosesTheRaceAtClose) {
  const auto slow = storage_->create(at("a.txt"), {.if_generation = 0, .size_hint = {}});
  put("a.txt", "fast");
  EXPECT_THAT([&] { slow->close(); }, ThrowsCode(Code::kInUse));
  EXPECT_EQ(get("a.txt"), "fast");
}

// The error of link(2) on file systems without hard links: of gcsfuse, and of newer kernels.
class MountedBucketTest : public LocalStorageTest, public testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Errors, MountedBucketTest,
                         testing::Values(ENOSYS, EPERM, EOPNOTSUPP, EMLINK));

TEST_P(MountedBucketTest, CreatesAndReplaces) {
  const auto write = [&] {
    const Stat first = put("a", "old", {.if_generation = 0, .size_hint = 3});
    EXPECT_EQ(get("a"), "old");
    EXPECT_THAT([&] { put("a", "x", {.if_generation = 0, .size_hint = {}}); },
                ThrowsCode(Code::kInUse));
    const auto slow = storage_->create(at("b"), {.if_generation = 0, .size_hint = {}});
    put("b", "other");
    EXPECT_THAT([&] { slow->close(); }, ThrowsCode(Code::kInUse));
    put("a", "new", {.if_generation = first.generation, .size_hint = {}});
  };
  if (!run_as_in_a_mounted_bucket(GetParam(), write)) GTEST_SKIP() << "NOT TESTED: no seccomp(2)";
  EXPECT_EQ(get("a") + get("b"), "newother");
  EXPECT_EQ(files(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(LocalStorageTest, ReplacesOnlyTheVersionThatWasSeen) {
  const Generation first = put("a.txt", "one").generation;
  const Generation second =
      put("a.txt", "two", {.if_generation = first, .size_hint = {}}).generation;
  EXPECT_NE(first, second);
  EXPECT_THAT([&] { put("a.txt", "three", {.if_generation = first, .size_hint = {}}); },
              ThrowsCode(Code::kInUse));
  EXPECT_EQ(get("a.txt"), "two");
}

TEST_F(LocalStorageTest, ListsEverythingBelowInOrder) {
  for (const char* name : {"b.txt", "a/z.txt", "a.txt", "a/b/c.txt", ".hidden"}) put(name, "x");
  write_text(scratch_ / ".b.txt.abc123.part", "left by a killed process");
  std::vector<std::string> names;
  for (const Stat& stat : storage_->list(Uri::parse(scratch_.path().string()))) {
    names.push_back(fs::path(stat.name).lexically_relative(scratch_.path()).string());
  }
  EXPECT_EQ(names, (std::vector<std::string>{".hidden", "a.txt", "a/b/c.txt", "a/z.txt", "b.txt"}));
}

TEST_F(LocalStorageTest, ListingFollowsLinksToFilesButNotToDirectories) {
  put("data/a.txt", "x");
  fs::create_symlink("a.txt", scratch_ / "data/link.txt");
  fs::create_symlink("nowhere", scratch_ / "data/dangling.txt");
  fs::create_directory_symlink(".", scratch_ / "data/loop");
  EXPECT_EQ(storage_->list(at("data")).size(), 2u);
}

TEST_F(LocalStorageTest, ListingNothingIsEmpty) {
  put("a.txt", "x");
  EXPECT_TRUE(storage_->list(at("absent")).empty());
  EXPECT_TRUE(storage_->list(at("a.txt")).empty());
}

TEST_F(LocalStorageTest, StatOfWhatIsAbsentIsNothing) {
  put("a/b.txt", "x");
  EXPECT_FALSE(storage_->stat(at("absent")).has_value());
  EXPECT_FALSE(storage_->stat(at("a")).has_value());          // a directory
  EXPECT_FALSE(storage_->stat(at("a/b.txt/c")).has_value());  // below a file
}

TEST_F(LocalStorageTest, RemovesOnceAndAgain) {
  const Generation generation = put("a.txt", "x").generation;
  EXPECT_THAT([&] { storage_->remove(at("a.txt"), generation + 1); }, ThrowsCode(Code::kInUse));
  storage_->remove(at("a.txt"), generation);
  storage_->remove(at("a.txt"), generation);
  storage_->remove(at("a.txt"));
  EXPECT_TRUE(files().empty());
}

TEST_F(LocalStorageTest, ErrorsNameThePathAndSayWhatToDo) {
  put("a/b.txt", "x");
  EXPECT_THAT([&] { get("absent.txt"); }, ThrowsCode(Code::kNotFound, "absent.txt: no such file"));
  EXPECT_THAT([&] { get("a"); }, ThrowsCode(Code::kBadData, "/a: is a directory; name a file"));
  EXPECT_THAT([&] { put("a", "x"); }, ThrowsCode(Code::kBadData, "is a directory"));
  EXPECT_THAT([&] { storage_->remove(at("a")); }, ThrowsCode(Code::kBadData, "is a directory"));
  EXPECT_THAT([&] { get("a/b.txt/c"); }, ThrowsCode(Code::kNotFound, "not a directory"));
  EXPECT_THAT([&] { put("a/b.txt/c", "x"); }, ThrowsCode(Code::kNotFound, "not a directory"));
}

TEST_F(LocalStorageTest, RefusedAccessIsNotPermitted) {
  put("secret.txt", "x");
  fs::permissions(scratch_ / "secret.txt", fs::perms::none);
  fs::permissions(scratch_.path(), fs::perms(0755));
  const AsNobody nobody;
  if (::getuid() != 0) fs::permissions(scratch_.path(), fs::perms(0555));
  EXPECT_THAT([&] { get("secret.txt"); }, ThrowsCode(Code::kNotPermitted, "permission denied"));
  EXPECT_THAT([&] { put("new.txt", "x"); }, ThrowsCode(Code::kNotPermitted, "new.txt"));
  EXPECT_THAT([&] { put("new/a.txt", "x"); }, ThrowsCode(Code::kNotPermitted, "directory"));
}

TEST_F(LocalStorageTest, NeverReplacesADevice) {
  EXPECT_THAT([&] { storage_->create(Uri::parse("/dev/null")); },
              ThrowsCode(Code::kBadData, "/dev/null: is a device"));
}

TEST_F(LocalStorageTest, AnImpossibleSizeIsNoSpaceBeforeAnyWork) {
  EXPECT_THAT([&] { put("a", "x", {.if_generation = {}, .size_hint = UINT64_MAX}); },
              ThrowsCode(Code::kNoSpace));
  EXPECT_TRUE(files().empty());
}

TEST_F(LocalStorageTest, AWriteThatDoesNotFitIsNoSpace) {
  const auto sink = storage_->create(at("a.txt"));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 10, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THAT([&] { sink->write(as_bytes("more than ten bytes")); },
              ThrowsCode(Code::kNoSpace, "a.txt"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST_F(LocalStorageTest, MapsAFile) {
  put("a.bin", "0123456789");
  const auto file = map_file(scratch_ / "a.bin");
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(as_text(*file->view()), "0123456789");
  std::array<std::byte, 4> buffer;
  file->read_at(6, buffer);
  EXPECT_EQ(as_text(buffer), "6789");
  EXPECT_THAT([&] { file->read_at(7, buffer); }, ThrowsCode(Code::kCorrupt, "ends at byte 10"));
  EXPECT_THAT([&] { file->read_at(UINT64_MAX, buffer); }, ThrowsCode(Code::kCorrupt));
}

TEST_F(LocalStorageTest, MapsAnEmptyFile) {
  put("empty", "");
  EXPECT_EQ(map_file(scratch_ / "empty")->size(), 0u);
  EXPECT_TRUE(map_file(scratch_ / "empty")->view()->empty());
}

TEST_F(LocalStorageTest, MapsRegularFilesOnly) {
  EXPECT_THAT([&] { map_file(scratch_ / "absent"); }, ThrowsCode(Code::kNotFound, "absent"));
  EXPECT_THAT([&] { map_file(scratch_.path()); }, ThrowsCode(Code::kBadData, "is a directory"));
  EXPECT_THAT([] { map_file("/dev/null"); }, ThrowsCode(Code::kBadData, "device"));
}

std::string letters(size_t size) {
  std::string text(size, ' ');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

// Writes the text in pieces of the size, and returns what the file holds then.
std::string written(int fd, const std::string& text, size_t piece) {
  UncachedWriter writer(fd, "the file");
  for (size_t i = 0; i < text.size(); i += piece) {
    writer.write(as_bytes(std::string_view(text).substr(i, piece)));
  }
  writer.finish();
  std::string read(text.size() + 1, '\0');
  const ssize_t size = ::pread(fd, read.data(), read.size(), 0);
  read.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return read;
}

class UncachedWriterTest : public testing::TestWithParam<size_t> {};

constexpr size_t kMebibyte = size_t{1} << 20;
INSTANTIATE_TEST_SUITE_P(Sizes, UncachedWriterTest,
                         testing::Values(0, 1, 4095, 4096, 4097, kMebibyte - 1, kMebibyte,
                                         2 * kMebibyte + 4096, 2 * kMebibyte + 4099));

TEST_P(UncachedWriterTest, WritesWhatItIsGiven) {
  const std::string text = letters(GetParam());
  for (const size_t piece : {size_t{70'001}, 3 * kMebibyte}) {
    const ScratchDirectory scratch;
    const FileDescriptor fd(::open((scratch / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_TRUE(written(fd.get(), text, piece) == text) << "in pieces of " << piece;
  }
}

TEST_P(UncachedWriterTest, WritesToAFileInMemory) {
  const std::string text = letters(GetParam());
  const FileDescriptor fd(::memfd_create("file", MFD_CLOEXEC));
  EXPECT_TRUE(written(fd.get(), text, 70'001) == text);
}

TEST(UncachedWriter, TellsThatTheDiskIsFull) {
  const FileDescriptor fd(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  UncachedWriter writer(fd.get(), "the file");
  EXPECT_THAT([&] { writer.write(as_bytes(letters(kMebibyte))); },
              ThrowsCode(Code::kNoSpace, "the file"));
}

}  // namespace
}  // namespace berth
