#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_gcs_faults.h"
#include "tests/support/fake_gcs_objects.h"
#include "tests/support/fake_gcs_uploads.h"
#include "tests/support/fake_gcs_xml.h"
#include "tests/support/http_server.h"

namespace berth {

struct FakeGcsOptions {
  std::vector<std::string> buckets = {"bucket"};
  size_t page_size = 1000;         // of a list, unless maxResults is smaller
  bool empty_middle_page = false;  // after the first page of a list one without items
  double latency_s = 0;            // see HttpServerOptions
  double bytes_per_second = 0;
};

// A request that came, its fault decided.
struct SeenRequest {
  GcsCall call;
  std::string method, target, object;
  std::map<std::string, std::string, WithoutCase> headers;
  uint64_t body_bytes;
};

// Google Cloud Storage's JSON API on loopback, as far as clients of single objects need it:
// metadata, lists, downloads with ranges and transcoding, uploads of all three kinds, deletes,
// preconditions, bearer tokens, permissions; and faults on demand. Thread-safe.
class FakeGcs {
 public:
  explicit FakeGcs(const FakeGcsOptions& options = {});

  std::string url() const { return server_.url(); }
  size_t connections() const { return server_.connections(); }
  GcsFaults& faults() { return faults_; }
  FakeSessions& sessions() { return sessions_; }

  // Objects of the first bucket, past every fault, token and permission.
  uint64_t put(const std::string& name, std::string bytes,
               const std::string& content_encoding = "");
  std::optional<std::string> get(const std::string& name) const;
  std::optional<FakeObject> find(const std::string& name) const;
  std::optional<uint64_t> generation(const std::string& name) const;
  void erase(const std::string& name);
  std::vector<std::string> names(const std::string& prefix = "") const;
  void add_bucket(const std::string& bucket) { objects_.add_bucket(bucket); }

  // Requests need "Authorization: Bearer <token>" from now on; nullopt: none.
  void require_token(std::optional<std::string> token);

  // "storage.objects.get", ".list", ".create", ".delete": refused with 403, or no longer.
  void deny(const std::string& permission);
  void allow(const std::string& permission);

  std::vector<SeenRequest> requests() const;
  size_t count(GcsCall call) const;
  void forget_requests();

 private:
  struct Route {
    GcsCall call = GcsCall::kOther;
    std::string bucket{}, object{};
  };

  static Route route(const ServedRequest& request);
  std::optional<uint64_t> begin(const ServedRequest& request);  // decides its fault
  ServedAnswer answer(const ServedRequest& request);
  ServedAnswer perform(const Route& route, const ServedRequest& request, const GcsFault& fault);
  ServedAnswer list(const std::string& bucket, const ServedRequest& request) const;
  void authorize(const Route& route, const ServedRequest& request) const;
  void demand(const std::string& permission, const std::string& resource) const;

  const FakeGcsOptions options_;
  FakeObjects objects_;
  FakeSessions sessions_{objects_};
  FakeXmlUploads xml_uploads_{objects_};
  GcsFaults faults_;
  mutable std::mutex mutex_;  // of what follows
  std::optional<std::string> token_;
  std::set<std::string> denied_;
  std::map<uint64_t, GcsFault> begun_;  // by request
  std::vector<SeenRequest> requests_;
  HttpServer server_;  // last: it stops first
};

}  // namespace berth
