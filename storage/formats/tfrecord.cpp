#include "storage/formats/tfrecord.h"

#include <algorithm>
#include <array>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr uint64_t kLargestRecord = uint64_t{1} << 30;
constexpr size_t kHeadSize = 12, kTailSize = 4;
constexpr size_t kGrowthStep =
    size_t{1} << 20;  // memory grows with the bytes read, not with the claimed size

[[noreturn]] void fail_record(uint64_t offset, const std::string& what) {
  throw Error(Code::kCorrupt, what, cat("record at byte ", offset),
              "check that it is a TFRecord file, and fetch it again");
}

}  // namespace

bool names_records(std::string_view file_name) {
  const std::string name = lower_ascii(file_name);
  return name.find("tfrecord") != std::string::npos ||
         name.find("tf_record") != std::string::npos || name.ends_with(".tfrec");
}

bool begins_record(Bytes file) {
  if (file.size() < kHeadSize) return false;
  Cursor cursor(file);
  cursor.u64();
  return crc32c_unmask(cursor.u32()) == crc32c(file.first(8));
}

void append_tfrecord(std::vector<std::byte>& file, Bytes data) {
  const uint64_t size = data.size();
  append_value(file, size);
  append_value(file, crc32c_mask(crc32c(std::as_bytes(std::span(&size, 1)))));
  file.insert(file.end(), data.begin(), data.end());
  append_value(file, crc32c_mask(crc32c(data)));
}

TfRecordReader::TfRecordReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

bool TfRecordReader::next(std::vector<std::byte>& data) {
  offset_ = next_offset_;
  std::array<std::byte, kHeadSize> head;
  const size_t head_size = fill(head);
  if (head_size == 0) return false;
  if (head_size < kHeadSize) fail_record(offset_, "ends early");
  Cursor cursor(head);
  const uint64_t size = cursor.u64();
  if (crc32c_unmask(cursor.u32()) != crc32c(Bytes(head).first(8))) {
    fail_record(offset_, "the checksum of its size is wrong");
  }
  if (size > kLargestRecord) fail_record(offset_, cat("claims ", human_bytes(size)));

  data.clear();
  while (data.size() < size) {
    const size_t begin = data.size();
    data.resize(std::min<uint64_t>(size, begin + kGrowthStep));
    if (fill(std::span(data).subspan(begin)) < data.size() - begin)
      fail_record(offset_, "ends early");
  }
  std::array<std::byte, kTailSize> tail;
  if (fill(tail) < kTailSize) fail_record(offset_, "ends early");
  if (crc32c_unmask(Cursor(tail).u32()) != crc32c(data))
    fail_record(offset_, "its checksum is wrong");
  return true;
}

size_t TfRecordReader::fill(std::span<std::byte> buffer) {
  const size_t filled = read_fully(*source_, buffer);
  next_offset_ += filled;
  return filled;
}

}  // namespace berth
