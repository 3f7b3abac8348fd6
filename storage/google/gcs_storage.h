#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/storage.h"

// Cloud Storage as a Storage. The storage is thread-safe, and a PageGuard belongs to one listing.
namespace berth {

// Ends a listing whose pages would never end.
class PageGuard {
 public:
  static constexpr size_t kMostObjects = 2'000'000;

  // Called after each page, with the token of the next one and the number of objects so far. Throws
  // kUnavailable if a page is named a second time, or if more than 1000 pages have fewer than ten
  // objects each on average. Throws kBadData if there are more objects than kMostObjects.
  void check(const std::string& next_token, size_t objects, const Uri& prefix) {
    ++pages_;
    if (objects > kMostObjects) {
      throw Error(Code::kBadData, cat("holds more than ", kMostObjects, " objects"),
                  prefix.to_string(), "name a folder or a pattern with fewer objects");
    }
    if (next_token.empty()) return;
    if (!tokens_.insert(next_token).second) {
      throw Error(Code::kUnavailable, "the server's listing comes back to a page that it had sent",
                  prefix.to_string());
    }
    if (pages_ > kSparsePages && objects / kLeastObjects < pages_) {
      throw Error(Code::kUnavailable, "the server's listing goes on with pages of few objects",
                  prefix.to_string());
    }
  }

 private:
  // Cloud Storage may send some empty pages where it passes over many deleted objects. Otherwise a
  // page has 1000 objects, as we ask.
  static constexpr size_t kSparsePages = 1000, kLeastObjects = 10;
  std::unordered_set<std::string> tokens_;
  size_t pages_ = 0;
};

// Accesses objects of Google Cloud Storage through its JSON API. Each call makes one attempt and
// throws kUnavailable if another one may succeed. Sources return the stored bytes: nothing is
// decompressed, and checksums are not compared (see verified_storage.h). Every write has a
// precondition. The server's answer to a write is compared with the CRC-32C and the size of what
// was sent. `http` and `credentials` must outlive the storage. `endpoint` is
// "https://storage.googleapis.com" or an emulator's "http://host:port". `user_project` is billed
// for the requests. If it is empty, the bucket's project is billed.
std::unique_ptr<JoiningStorage> make_gcs_storage(std::string endpoint, HttpClient& http,
                                                 Credentials& credentials,
                                                 std::string user_project = {});

}  // namespace berth
