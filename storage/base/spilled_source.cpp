#include "storage/base/spilled_source.h"

#include <vector>

#include "storage/base/mapped_pages.h"
#include "storage/base/spill_file.h"

namespace berth {
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
