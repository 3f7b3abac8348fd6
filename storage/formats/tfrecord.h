#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// TFRecord framing. The format has no magic number and no file header; an empty file has no
// records.
//
//   u64 size | u32 masked crc32c of the size | data | u32 masked crc32c of the data
//
// Whether a file is a TFRecord file, judging by its name (after any compression suffix was
// removed). The format has no suffix of its own. Common names are .tfrecord, .tf_record,
// .tfrecord-00000-of-00002 and .tfrec.
bool names_records(std::string_view file_name);

// Whether `file` begins with a record's size and the matching checksum.
bool begins_record(Bytes file);

// Appends one record that holds `data`.
void append_tfrecord(std::vector<std::byte>& file, Bytes data);

// Reads records in order. Not thread-safe.
class TfRecordReader {
 public:
  explicit TfRecordReader(std::unique_ptr<ByteSource> source);

  // Reads the next record into `data`; returns false at the end. Throws kCorrupt, naming the byte
  // offset of the record, on a wrong checksum, a truncated file, or a record of more than 1 GiB.
  bool next(std::vector<std::byte>& data);

  // The byte offset, in the file, of the record returned last.
  uint64_t offset() const { return offset_; }

 private:
  size_t fill(std::span<std::byte> buffer);

  std::unique_ptr<ByteSource> source_;
  uint64_t offset_ = 0, next_offset_ = 0;
};

}  // namespace berth
