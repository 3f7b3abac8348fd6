#include "storage/uncached_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "storage/file_descriptor.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

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
