#pragma once

#include <optional>
#include <string>

#include "storage/google/gcs_requests.h"
#include "storage/storage.h"

namespace berth {

// The common part of all ways to write an object: the object's metadata, which contain a mark
// unique to this writer, and the interpretation of answers. `requests` must outlive it.
class GcsNewObject {
 public:
  // Writes the object `uri` if its current version is `if_generation`; 0 means that it must not
  // exist.
  GcsNewObject(GcsRequests& requests, const Uri& uri, Generation if_generation);

  GcsRequests& requests() const { return requests_; }
  const Uri& uri() const { return uri_; }
  const std::string& mark() const { return mark_; }
  std::string precondition() const;                              // "ifGenerationMatch=N"
  std::string metadata(std::optional<uint32_t> crc = {}) const;  // the object's metadata, as JSON

  // Returns the object that an answer to a write describes. If the answer is 412 (precondition
  // failed), returns the object if it carries this writer's mark: then an earlier attempt of the
  // same write succeeded, and only its answer was lost. Throws the error that any other answer
  // means, and UploadLost if the bytes arrived damaged.
  Stat published(const HttpAnswer& answer) const;

  // Returns the object if it carries this writer's mark.
  std::optional<Stat> find() const;

  // Returns `published` with its checksum. If size or checksum differ from what was sent, removes
  // the object and throws UploadLost.
  Stat intact(Stat published, uint64_t size, uint32_t crc) const;

 private:
  [[noreturn]] void fail(const HttpAnswer& answer) const;

  GcsRequests& requests_;
  Uri uri_;
  Generation if_generation_;
  std::string mark_;
};

}  // namespace berth
