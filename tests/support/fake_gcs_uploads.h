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

// An object that a request wants to make.
struct GcsIntent {
  FakeObject object;                    // without bytes
  std::optional<std::string> crc32c{};  // as the request's JSON gives it
  GcsConditions conditions{};
};

// The object as the query and `json`, the resource that came along, describe it.
GcsIntent intent_of(const std::string& bucket, const ServedRequest& request, std::string_view json);

// uploadType media or multipart: the object is there when it returns.
ServedAnswer upload_at_once(FakeObjects& objects, const std::string& bucket,
                            const ServedRequest& request, const GcsFault& fault);

// Resumable uploads. Thread-safe; requests to one session wait for each other.
class FakeSessions {
 public:
  explicit FakeSessions(FakeObjects& objects) : objects_(objects) {}

  ServedAnswer start(const std::string& bucket, const ServedRequest& request);
  ServedAnswer put(const ServedRequest& request, const GcsFault& fault);  // a chunk or a query
  ServedAnswer cancel(const ServedRequest& request);

  // Answers `status` to that session's requests, or every one's, from now on.
  void lose(const std::string& id, int status);
  void lose_all(int status);
  size_t open() const;  // neither finished nor lost

 private:
  struct Session {
    std::mutex mutex;
    GcsIntent intent;
    std::optional<uint64_t> total;
    std::string bytes;
    uint32_t crc = 0;
    std::optional<std::string> finished;  // with this answer
    int lost = 0;                         // the status that says so
  };

  std::shared_ptr<Session> find(const ServedRequest& request) const;  // refused where it is gone
  void keep(Session& session, std::string_view content, const GcsFault& fault);
  ServedAnswer answer(Session& session, const ServedRequest& request);

  FakeObjects& objects_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // shared by requests under way
};

}  // namespace berth
