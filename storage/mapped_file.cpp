#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "storage/base/error.h"
#include "storage/base/mapped_pages.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/file_error.h"
#include "storage/local_file.h"
#include "storage/local_storage.h"

namespace berth {
namespace {

class MappedFile final : public RandomAccessSource {
 public:
  MappedFile(int fd, size_t size, const std::string& path) : path_(path) {
    if (size == 0) return;  // mmap refuses an empty range
    void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) throw file_error(errno, "map", path);
    bytes_ = {static_cast<const std::byte*>(address), size};
  }

  ~MappedFile() override {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  uint64_t size() const override { return bytes_.size(); }

  void read_at(uint64_t offset, std::span<std::byte> buffer) override {
    if (offset > bytes_.size() || buffer.size() > bytes_.size() - offset) {
      throw Error(Code::kCorrupt,
                  cat("ends at byte ", bytes_.size(), ", before ", offset, " + ", buffer.size()),
                  path_, "fetch it again");
    }
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), buffer.size(), buffer.begin());
  }

  std::optional<Bytes> view() const override { return bytes_; }

  void release(uint64_t offset, uint64_t size) override { release_pages(bytes_, offset, size); }

 private:
  const std::string path_;
  Bytes bytes_;
};

}  // namespace

std::unique_ptr<RandomAccessSource> map_open_file(int fd, const std::string& path) {
  struct ::stat status;
  if (::fstat(fd, &status) != 0) throw file_error(errno, "look it up", path);
  if (S_ISDIR(status.st_mode)) throw file_error(EISDIR, "read", path);
  if (!S_ISREG(status.st_mode)) return nullptr;
  return std::make_unique<MappedFile>(fd, static_cast<size_t>(status.st_size), path);
}

std::unique_ptr<RandomAccessSource> map_file(const std::filesystem::path& path) {
  const FileDescriptor fd(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!fd) throw file_error(errno, "read", path.string());
  auto mapped = map_open_file(fd.get(), path.string());
  if (mapped == nullptr) {
    throw Error(Code::kBadData, "is a device or a pipe, which cannot be mapped", path.string(),
                "name a regular file");
  }
  return mapped;
}

}  // namespace berth
