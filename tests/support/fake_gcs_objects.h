#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/http_server.h"
#include "tests/support/recycled_bytes.h"
#include "tests/support/shared_bytes.h"

namespace berth {

// The bytes of an object. Joining objects copies nothing, as in the service. The bytes are copied
// together when they are first read. Thread-safe.
class FakeContent {
 public:
  explicit FakeContent(SharedBytes bytes = {}) : pieces_({std::move(bytes)}) {}
  static std::shared_ptr<FakeContent> joined(
      const std::vector<std::shared_ptr<FakeContent>>& parts);

  uint64_t size() const;
  SharedBytes bytes();

 private:
  mutable std::mutex mutex_;
  std::vector<SharedBytes> pieces_;
};

// One version of an object.
struct FakeObject {
  std::string bucket{}, name{};
  std::shared_ptr<FakeContent> content = std::make_shared<FakeContent>();
  uint64_t generation = 0, metageneration = 1;
  uint32_t crc32c = 0;
  std::string content_type{}, content_encoding{};
  std::map<std::string, std::string> metadata{};
  std::string updated{};  // when it was written, as the server tells it
};

// Thrown to refuse a request.
struct GcsRefusal {
  int status;
  std::string reason;  // "notFound"
  std::string message;
};

// The preconditions in a request's query on the current version of the object.
struct GcsConditions {
  std::optional<uint64_t> generation;  // deletes and reads want this version, or 404
  std::optional<uint64_t> if_generation_match, if_generation_not_match;  // 0: no object
  std::optional<uint64_t> if_metageneration_match;

  // Throws a GcsRefusal with status 400 if a value is not a number.
  static GcsConditions of(const ServedRequest& request);

  // Throws a GcsRefusal with status 404, 412 or 304 if a precondition fails. `current` is null if
  // there is no such object.
  void check(const std::string& bucket, const std::string& name, const FakeObject* current) const;
};

// The buckets and their objects. Requests for absent ones throw a GcsRefusal with the status and
// the message of Google Cloud Storage. Thread-safe.
class FakeObjects {
 public:
  void add_bucket(const std::string& bucket);
  void check_bucket(const std::string& bucket) const;  // 404
  FakeObject get(const std::string& bucket, const std::string& name,
                 const GcsConditions& conditions) const;
  bool holds(const std::string& bucket, const std::string& name) const;

  // check() only checks the conditions. put() also stores `object` as a new version and returns it.
  void check(const std::string& bucket, const std::string& name,
             const GcsConditions& conditions) const;
  FakeObject put(FakeObject object, const GcsConditions& conditions);
  void erase(const std::string& bucket, const std::string& name, const GcsConditions& conditions);

  // The objects whose names begin with `prefix` and follow `after`, sorted by name.
  std::vector<FakeObject> list(const std::string& bucket, const std::string& prefix,
                               const std::string& after) const;

  RecycledBytes& memory() { return *memory_; }  // for the bytes of upload sessions

 private:
  const FakeObject* find(const std::string& bucket,
                         const std::string& name) const;  // requires mutex_

  const std::shared_ptr<RecycledBytes> memory_ = std::make_shared<RecycledBytes>();
  mutable std::mutex mutex_;
  std::set<std::string> buckets_;
  std::map<std::pair<std::string, std::string>, FakeObject> objects_;  // by bucket and name
  uint64_t last_generation_ = 1700000000000000;
};

}  // namespace berth
