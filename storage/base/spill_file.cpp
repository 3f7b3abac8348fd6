#include "storage/base/spill_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

void release_pages(Bytes mapping, uint64_t offset, uint64_t size) {
  // When one page is read, Linux also maps the pages around it, up to the size of a huge page. So
  // reading after a range brings back pages of that range.
  constexpr uint64_t kMostMappedAtOnce = uint64_t{2} << 20;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  offset = std::min<uint64_t>(offset, mapping.size());
  const uint64_t end = offset + std::min(size, mapping.size() - offset);
  const auto begin = reinterpret_cast<uintptr_t>(mapping.data());  // at a page's begin
  const uint64_t before = std::min(offset, (begin + offset) % kMostMappedAtOnce);
  const uint64_t first = offset - before, last = end / page * page;
  if (first >= last) return;
  void* const address = const_cast<std::byte*>(mapping.data() + first);
  madvise(address, last - first, MADV_DONTNEED);  // a hint: what fails changes nothing
}

namespace {

std::string directory() {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::temp_directory_path(ignored);
  return path.empty() ? "/tmp" : path.string();
}

[[noreturn]] void fail(Code code, const std::string& action) {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  throw Error(
      full ? Code::kNoSpace : code,
      cat("cannot ", action, ": ", std::generic_category().message(errno)), directory(),
      "rows that do not fit in memory are kept there; set TMPDIR to a directory on a larger disk");
}

}  // namespace

SpillFile::SpillFile() {
  std::string name = directory() + "/berth-rows-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) fail(Code::kNotPermitted, "make a temporary file");
  unlink(name.c_str());
}

SpillFile::~SpillFile() {
  if (!mapping_.empty()) munmap(const_cast<std::byte*>(mapping_.data()), mapping_.size());
  close(file_);
}

Bytes SpillFile::map() {
  if (size_ == 0) return {};  // mmap refuses an empty range
  void* const address = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_, 0);
  if (address == MAP_FAILED) fail(Code::kMemory, "map a temporary file");
  mapping_ = {static_cast<const std::byte*>(address), size_};
  return mapping_;
}

void SpillFile::append(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(Code::kUnavailable, "write a temporary file");
    size_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void SpillFile::read_at(uint64_t offset, std::span<std::byte> buffer) const {
  while (!buffer.empty()) {
    const ssize_t got = pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = EIO;
      fail(Code::kUnavailable, "read a temporary file");
    }
    offset += static_cast<uint64_t>(got);
    buffer = buffer.subspan(static_cast<size_t>(got));
  }
}

namespace {

class SpilledSource final : public RandomAccessSource {
 public:
  explicit SpilledSource(ByteSource& source) {
    std::vector<std::byte> buffer(size_t{1} << 20);
    while (const size_t size = source.read(buffer)) file_.append(Bytes(buffer).first(size));
    bytes_ = file_.map();
  }

  uint64_t size() const override { return file_.size(); }
  void read_at(uint64_t offset, std::span<std::byte> buffer) override {
    file_.read_at(offset, buffer);
  }
  std::optional<Bytes> view() const override { return bytes_; }
  void release(uint64_t offset, uint64_t size) override { release_pages(bytes_, offset, size); }

 private:
  SpillFile file_;
  Bytes bytes_;
};

}  // namespace

std::unique_ptr<RandomAccessSource> spill(ByteSource& source) {
  return std::make_unique<SpilledSource>(source);
}

}  // namespace berth
