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

// What an object holds. Joining copies nothing, as in the service: it is made one when it is read.
// Thread-safe.
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
};

// A request that is refused, thrown.
struct GcsRefusal {
  int status;
  std::string reason;  // "notFound"
  std::string message;
};

// What a request's query demands of the object's present version.
struct GcsConditions {
  std::optional<uint64_t> generation;  // of deletes and reads: this version or 404
  std::optional<uint64_t> if_generation_match, if_generation_not_match;  // 0: no object
  std::optional<uint64_t> if_metageneration_match;

  // Throws a GcsRefusal of 400 where a value is no number.
  static GcsConditions of(const ServedRequest& request);

  // Throws a GcsRefusal of 404, 412 or 304. `current` is null where there is no object.
  void check(const std::string& bucket, const std::string& name, const FakeObject* current) const;
};

// The buckets. Thread-safe; what is absent is refused as Google Cloud Storage does it.
class FakeObjects {
 public:
  void add_bucket(const std::string& bucket);
  void check_bucket(const std::string& bucket) const;  // 404
  FakeObject get(const std::string& bucket, const std::string& name,
                 const GcsConditions& conditions) const;
  bool holds(const std::string& bucket, const std::string& name) const;

  // Checks only, or stores `object` as a new version and gives its generation.
  void check(const std::string& bucket, const std::string& name,
             const GcsConditions& conditions) const;
  FakeObject put(FakeObject object, const GcsConditions& conditions);
  void erase(const std::string& bucket, const std::string& name, const GcsConditions& conditions);

  // Sorted by name, those after `after` alone.
  std::vector<FakeObject> list(const std::string& bucket, const std::string& prefix,
                               const std::string& after) const;

  RecycledBytes& memory() { return *memory_; }  // for what sessions hold

 private:
  const FakeObject* find(const std::string& bucket, const std::string& name) const;  // mutex_ held

  const std::shared_ptr<RecycledBytes> memory_ = std::make_shared<RecycledBytes>();
  mutable std::mutex mutex_;
  std::set<std::string> buckets_;
  std::map<std::pair<std::string, std::string>, FakeObject> objects_;  // by bucket and name
  uint64_t last_generation_ = 1700000000000000;
};

}  // namespace berth
