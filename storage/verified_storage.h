#pragma once

#include <cstdint>
#include <memory>

#include "storage/storage.h"
#include "storage/transfer_meter.h"

namespace berth {

struct TransferOptions {
  uint64_t part_bytes = uint64_t{16} << 20;
  int connections = 12;  // so many parts are in memory at once; 1: one request for the whole object

  // Uploads whose size_hint is eight such parts or more are parts, which the storage joins: see
  // parallel_sink.h. At most what Google Cloud Storage takes in one request.
  bool joins_parts = false;
  uint64_t upload_part_bytes = uint64_t{8} << 20;

  TellProgress on_progress{};
};

// Whole objects of `inner`, as they were stored: looked up, then read from that generation in
// parallel ranges, and compared with their size and CRC-32C. What does not fit is kUnavailable: an
// object of one part is first read again, a larger one ends with the error before its last part. An
// object stored with Content-Encoding gzip arrives decompressed unless its name ends in .gz or
// .tgz. Other verbs, and reads of a range, pass through.
std::unique_ptr<Storage> make_verified_storage(std::unique_ptr<Storage> inner,
                                               const TransferOptions& options);

}  // namespace berth
