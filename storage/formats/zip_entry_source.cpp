#include "storage/formats/zip_entry_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>

#include "storage/base/crc32.h"
#include "storage/base/error.h"
#include "storage/formats/damage.h"

namespace berth {
namespace {

class RangeSource final : public ByteSource {
 public:
  RangeSource(RandomAccessSource& file, uint64_t offset, uint64_t size)
      : file_(file), bytes_(file.view()->subspan(offset, size)), offset_(offset) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t count = std::min(buffer.size(), bytes_.size() - read_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(read_), count, buffer.begin());
    read_ += count;
    constexpr uint64_t kReleasedAtOnce = uint64_t{1} << 20;
    if (read_ - released_ >= kReleasedAtOnce) {
      file_.release(offset_ + released_, read_ - released_);
      released_ = read_;
    }
    return count;
  }

 private:
  RandomAccessSource& file_;
  const Bytes bytes_;
  const uint64_t offset_;
  size_t read_ = 0, released_ = 0;
};

// Inflates data without a header or a checksum of their own (RFC 1951).
class InflatedSource final : public ByteSource {
 public:
  explicit InflatedSource(std::unique_ptr<ByteSource> deflated) : deflated_(std::move(deflated)) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      throw Error(Code::kMemory, "no memory for inflating");
    }
  }
  ~InflatedSource() override { inflateEnd(&stream_); }
  InflatedSource(const InflatedSource&) = delete;
  InflatedSource& operator=(const InflatedSource&) = delete;

  size_t read(std::span<std::byte> buffer) override {
    const auto wanted = static_cast<uInt>(std::min<size_t>(buffer.size(), UINT_MAX));
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted && !at_end_) {
      if (stream_.avail_in == 0) {
        const size_t count = deflated_->read(input_);
        if (count == 0) fail_damaged("its compressed data end too early");
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(count);
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw Error(Code::kMemory, "no memory for inflating");
      if (result != Z_OK && result != Z_STREAM_END) fail_damaged("its compressed data are damaged");
      at_end_ = result == Z_STREAM_END;
    }
    return wanted - stream_.avail_out;
  }

 private:
  const std::unique_ptr<ByteSource> deflated_;
  std::array<std::byte, size_t{1} << 16> input_;
  z_stream stream_{};
  bool at_end_ = false;
};

class CheckedSource final : public ByteSource {
 public:
  CheckedSource(std::unique_ptr<ByteSource> data, const ZipFile::Entry& entry)
      : data_(std::move(data)), wanted_crc_(entry.crc), left_(entry.size) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t count = data_->read(buffer);
    if (count > left_ || (count == 0 && left_ > 0)) {
      fail_damaged("has another size than the zip directory says");
    }
    left_ -= count;
    crc_ = crc32(buffer.first(count), crc_);
    if (count == 0 && crc_ != wanted_crc_) {
      fail_damaged("its CRC-32 differs from the one in the zip directory");
    }
    return count;
  }

 private:
  const std::unique_ptr<ByteSource> data_;
  const uint32_t wanted_crc_;
  uint64_t left_;
  uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_range(RandomAccessSource& file, uint64_t offset, uint64_t size) {
  return std::make_unique<RangeSource>(file, offset, size);
}

std::unique_ptr<ByteSource> open_entry(RandomAccessSource& file, const ZipFile::Entry& entry) {
  auto data = open_range(file, entry.end - entry.data.size(), entry.data.size());
  if (entry.is_deflated) data = std::make_unique<InflatedSource>(std::move(data));
  return std::make_unique<CheckedSource>(std::move(data), entry);
}

}  // namespace berth
