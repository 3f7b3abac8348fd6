#include "storage/uncached_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "storage/file_descriptor.h"
#include "storage/file_error.h"

namespace berth {
namespace {

// Memory, lengths and places in the file are multiples of it. It is at least the logical block of
// every common disk.
constexpr size_t kBlock = 4096;
constexpr size_t kBuffer = size_t{1} << 20;

bool set_direct(int fd, bool is_direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  const int wanted = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && ::fcntl(fd, F_SETFL, wanted) == 0;
}

}  // namespace

UncachedWriter::UncachedWriter(int fd, std::string path)
    : fd_(fd),
      path_(std::move(path)),
      buffer_(static_cast<std::byte*>(std::aligned_alloc(kBlock, kBuffer))),
      is_direct_(set_direct(fd, true)) {
  if (!buffer_) throw std::bad_alloc();
}

void UncachedWriter::write(Bytes bytes) {
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kBuffer - filled_);
    std::memcpy(buffer_.get() + filled_, bytes.data(), count);
    filled_ += count;
    bytes = bytes.subspan(count);
    if (filled_ == kBuffer) write_blocks(kBuffer);
  }
}

void UncachedWriter::finish() {
  write_blocks(filled_ - filled_ % kBlock);
  use_page_cache();
  write_blocks(filled_);
}

// Writes the first `size` bytes of the buffer and moves the others to its beginning.
void UncachedWriter::write_blocks(size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t count =
        uninterrupted([&] { return ::write(fd_, buffer_.get() + done, size - done); });
    if (count < 0 && errno == EINVAL && is_direct_) {
      use_page_cache();  // the file system asks for other multiples
      continue;
    }
    if (count < 0) throw file_error(errno, "write", path_);
    done += static_cast<size_t>(count);
    if (done % kBlock != 0) use_page_cache();  // a full disk, perhaps, has cut a block
  }
  filled_ -= size;
  std::memmove(buffer_.get(), buffer_.get() + size, filled_);
}

void UncachedWriter::use_page_cache() {
  if (std::exchange(is_direct_, false)) set_direct(fd_, false);
}

}  // namespace berth
