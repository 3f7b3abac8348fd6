#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/fake_gcs_faults.h"
#include "tests/support/fake_gcs_objects.h"
#include "tests/support/http_server.h"

namespace berth {

// The object that an upload request wants to create.
struct GcsIntent {
  FakeObject object;                    // without its bytes
  std::optional<std::string> crc32c{};  // the checksum in the request's JSON, in base64
  GcsConditions conditions{};
};

// Reads the intent from the request's query and from `json`, the resource in its body.
GcsIntent intent_of(const std::string& bucket, const ServedRequest& request, std::string_view json);

// Handles uploadType media and multipart. The object exists when the call returns.
ServedAnswer upload_at_once(FakeObjects& objects, const std::string& bucket,
                            const ServedRequest& request, const GcsFault& fault);

// The sessions of resumable uploads. Thread-safe; requests to one session wait for each other.
class FakeSessions {
 public:
  explicit FakeSessions(FakeObjects& objects) : objects_(objects) {}

  ServedAnswer start(const std::string& bucket, const ServedRequest& request);
  ServedAnswer put(const ServedRequest& request, const GcsFault& fault);  // a chunk or a query
  ServedAnswer cancel(const ServedRequest& request);

  // From now on requests to this session, or to every session, are answered with `status`.
  void lose(const std::string& id, int status);
  void lose_all(int status);
  size_t open() const;  // the number of sessions that are neither finished nor lost

 private:
  struct Session {
    std::mutex mutex;
    GcsIntent intent;
    std::optional<uint64_t> total;
    std::string bytes;
    uint32_t crc = 0;
    std::optional<std::string> finished;  // the answer that finished the upload
    int lost = 0;                         // the status of a lost session; 0: it is not lost
  };

  std::shared_ptr<Session> find(const ServedRequest& request) const;  // throws if it is gone
  void keep(Session& session, std::string_view content, const GcsFault& fault);
  ServedAnswer answer(Session& session, const ServedRequest& request);

  FakeObjects& objects_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // shared with running requests
};

}  // namespace berth
