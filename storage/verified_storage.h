#pragma once

#include <cstdint>
#include <memory>

#include "storage/storage.h"
#include "storage/transfer_meter.h"

namespace berth {

struct TransferOptions {
  uint64_t part_bytes = uint64_t{16} << 20;
  int connections = 12;  // parallel requests, each with a part in memory; 1: one request per object

  // Whether uploads to a JoiningStorage with a size_hint of at least eight times upload_part_bytes
  // are split into parts that the storage joins; see parallel_sink.h. upload_part_bytes must be at
  // most 8 MiB, which gcs_upload.h sends in a single request.
  bool joins_parts = false;
  uint64_t upload_part_bytes = uint64_t{8} << 20;

  TellProgress on_progress{};

  // What uploading in parts holds at most: a part for each connection, and the one that is filled.
  uint64_t upload_bytes() const {
    return (static_cast<uint64_t>(connections) + 1) * upload_part_bytes;
  }
};

// Reads whole objects of `inner` and verifies them. The object is looked up first. Its generation
// is then read in parallel ranges, and size and CRC-32C are compared. If they do not match, an
// object of one part is read again; a larger object throws kUnavailable before its last part is
// returned.
//
// An object stored with Content-Encoding gzip is decompressed, unless its name ends in .gz or .tgz.
// Other verbs and reads of a range pass through.
std::unique_ptr<Storage> make_verified_storage(std::unique_ptr<Storage> inner,
                                               const TransferOptions& options);
// The same. Only here does `options.joins_parts` have an effect.
std::unique_ptr<Storage> make_verified_storage(std::unique_ptr<JoiningStorage> inner,
                                               const TransferOptions& options);

}  // namespace berth
