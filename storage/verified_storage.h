#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "storage/storage.h"

namespace berth {

// A transfer so far. `bytes` of `total` (0: not known).
struct TransferProgress {
  std::string uri;
  bool is_upload = false;
  uint64_t bytes = 0, total = 0;
  double seconds = 0;
  bool finished = false;
};

struct TransferOptions {
  uint64_t part_bytes = uint64_t{16} << 20;
  int connections = 12;  // so many parts are in memory at once; 1: one request for the whole object
  // Called by whichever thread transfers, every five seconds, and at
  // the end of one that took longer than two.
  std::function<void(const TransferProgress&)> on_progress;
};

// Whole objects of `inner`, as they were stored: looked up, then read from that generation in
// parallel ranges, and compared with their size and CRC-32C. What does not fit is kUnavailable: an
// object of one part is first read again, a larger one ends with the error before its last part. An
// object stored with Content-Encoding gzip arrives decompressed unless its name ends in .gz or
// .tgz. Other verbs, and reads of a range, pass through.
std::unique_ptr<Storage> make_verified_storage(std::unique_ptr<Storage> inner,
                                               const TransferOptions& options);

}  // namespace berth
