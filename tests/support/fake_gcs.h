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
  size_t page_size = 1000;         // objects on a page of a list, unless maxResults is smaller
  bool empty_middle_page = false;  // the second page of every list has no items
  // After the first page of a list: none, the first page for ever, or new empty pages for ever.
  enum class Endless { kNo, kRepeated, kEmpty } endless = Endless::kNo;
  double latency_s = 0;  // see HttpServerOptions
  double bytes_per_second = 0;
};

// A request that the server received.
struct SeenRequest {
  GcsCall call;
  std::string method, target, object;
  std::map<std::string, std::string, WithoutCase> headers;
  uint64_t body_bytes;
};

// A fake of Google Cloud Storage on loopback. It implements the part of the JSON API that clients
// of objects need: metadata, lists, downloads with ranges and transcoding, the three kinds of
// uploads, compose, deletes, preconditions, bearer tokens and permissions. It also injects faults.
// Objects are in memory. Thread-safe.
class FakeGcs {
 public:
  explicit FakeGcs(const FakeGcsOptions& options = {});

  std::string url() const { return server_.url(); }
  size_t connections() const { return server_.connections(); }
  GcsFaults& faults() { return faults_; }
  FakeSessions& sessions() { return sessions_; }

  // These act on objects of the first bucket directly, without faults, tokens and permissions.
  uint64_t put(const std::string& name, std::string bytes,
               const std::string& content_encoding = "");
  std::optional<std::string> get(const std::string& name) const;
  std::optional<FakeObject> find(const std::string& name) const;
  std::optional<uint64_t> generation(const std::string& name) const;
  void erase(const std::string& name);
  std::vector<std::string> names(const std::string& prefix = "") const;
  void add_bucket(const std::string& bucket) { objects_.add_bucket(bucket); }

  // From now on requests need "Authorization: Bearer TOKEN". nullopt: no token is needed.
  void require_token(std::optional<std::string> token);

  // Refuses a permission with 403, or grants it again: "storage.objects.get", ".list", ".create",
  // ".delete".
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
  mutable std::mutex mutex_;  // guards the members below
  std::optional<std::string> token_;
  std::set<std::string> denied_;
  std::map<uint64_t, GcsFault> begun_;  // by the request's number
  std::vector<SeenRequest> requests_;
  HttpServer server_;  // declared last, so that it stops first
};

}  // namespace berth
