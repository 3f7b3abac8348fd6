#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// TFRecord framing, which has neither magic nor file header; an empty file holds no records.
//
//   u64 size | u32 masked crc32c of the size | data | u32 masked crc32c of the data
//
// Whether files of this name (after any compression suffix was removed) are such: they have no
// suffix of their own, but people write .tfrecord, .tf_record, .tfrecord-00000-of-00002, .tfrec.
bool names_records(std::string_view file_name);

// Whether a record's size and its checksum stand at the beginning of `file`.
bool begins_record(Bytes file);

// Appends one record that holds `data`.
void append_tfrecord(std::vector<std::byte>& file, Bytes data);

// Reads records in order. Not thread-safe.
class TfRecordReader {
 public:
  explicit TfRecordReader(std::unique_ptr<ByteSource> source);

  // The next record into `data`; false at the end. Throws kCorrupt, naming the byte offset of the
  // record, on a wrong checksum, a file cut short or a record of more than 1 GiB.
  bool next(std::vector<std::byte>& data);

  // Of the record last returned, in the file.
  uint64_t offset() const { return offset_; }

 private:
  size_t fill(std::span<std::byte> buffer);

  std::unique_ptr<ByteSource> source_;
  uint64_t offset_ = 0, next_offset_ = 0;
};

}  // namespace berth
