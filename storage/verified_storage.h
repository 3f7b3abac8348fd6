#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/base/clock.h"
#include "storage/storage.h"

namespace berth {

// The progress of one transfer. `total` is 0 if the size is unknown.
struct TransferProgress {
  std::string uri;
  bool is_upload = false;
  uint64_t bytes = 0, total = 0;
  double seconds = 0;
  bool finished = false;
};

// May be called by any thread that transfers, but only by one at a time for each transfer.
using TellProgress = std::function<void(const TransferProgress&)>;

// Counts the bytes of one transfer and reports its progress: first after two seconds and then every
// five. If it has reported at all, it also reports success at the end. Thread-safe.
class TransferMeter {
 public:
  // `tell` may be empty; it must outlive this. `about` holds all fields except bytes and seconds.
  TransferMeter(const TellProgress& tell, TransferProgress about, Clock now = steady_clock_s);
  TransferMeter(const TransferMeter&) = delete;
  TransferMeter& operator=(const TransferMeter&) = delete;

  void add(uint64_t bytes);
  void finish();  // call when all bytes have arrived

 private:
  void tell(double now_s);

  const TellProgress& tell_;
  const Clock now_;
  const double began_s_;
  std::mutex mutex_;  // guards the members below
  TransferProgress progress_;
  std::optional<double> reported_s_;  // time of the last report
};

struct TransferOptions {
  uint64_t part_bytes = uint64_t{16} << 20;
  int connections = 12;  // parallel requests, each with a part in memory; 1: one request per object

  // Whether uploads to a JoiningStorage with a size_hint of at least eight times upload_part_bytes
  // are split into parts that the storage joins. upload_part_bytes must be at most 8 MiB, which
  // gcs_upload.h sends in a single request.
  bool joins_parts = false;
  uint64_t upload_part_bytes = uint64_t{8} << 20;

  TellProgress on_progress{};

  // What reading an object holds at most.
  uint64_t download_bytes() const { return static_cast<uint64_t>(connections) * part_bytes; }
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
