#pragma once

#include <optional>
#include <string>

#include "storage/google/gcs_requests.h"
#include "storage/storage.h"

namespace berth {

// What every way to write an object has in common: its description, which bears a mark of this
// writer, and what answers mean. A value but for `requests`, which outlives it.
class GcsNewObject {
 public:
  // Replaces version `if_generation` of `uri`; 0: creates it.
  GcsNewObject(GcsRequests& requests, const Uri& uri, Generation if_generation);

  GcsRequests& requests() const { return requests_; }
  const Uri& uri() const { return uri_; }
  const std::string& mark() const { return mark_; }
  std::string precondition() const;                              // "ifGenerationMatch=N"
  std::string metadata(std::optional<uint32_t> crc = {}) const;  // its resource, JSON

  // The object that an answer to a write tells of. After a 412 the one that bears the mark: an
  // earlier try of this very write may have arrived, and only its answer was lost. Throws what any
  // other answer means; UploadLost where the bytes arrived damaged.
  Stat published(const HttpAnswer& answer) const;

  // The object, where it bears the mark.
  std::optional<Stat> find() const;

  // `published` with its checksum. Where it is not what was sent: UploadLost, the object removed.
  Stat intact(Stat published, uint64_t size, uint32_t crc) const;

 private:
  [[noreturn]] void fail(const HttpAnswer& answer) const;

  GcsRequests& requests_;
  Uri uri_;
  Generation if_generation_;
  std::string mark_;
};

}  // namespace berth
