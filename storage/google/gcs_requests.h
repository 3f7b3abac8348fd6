#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/storage.h"

namespace berth {

// Requests of the JSON API (https://cloud.google.com/storage/docs/json_api), authorised. A 401
// drops the token and is asked once more with a fresh one. Thread-safe; what it is given outlives
// it.
class GcsRequests {
 public:
  // Throws kUsage for an endpoint that is not http(s)://host[:port].
  GcsRequests(std::string endpoint, HttpClient& http, Credentials& credentials);

  // URLs. `uri` is gs://bucket/object.
  std::string object(const Uri& uri) const;   // metadata
  std::string media(const Uri& uri) const;    // content; ends in "?alt=media"
  std::string objects(const Uri& uri) const;  // the bucket's listing
  std::string uploads(const Uri& uri) const;  // the bucket's new objects

  HttpAnswer send(HttpRequest request);
  std::unique_ptr<HttpStream> open(HttpRequest request);

 private:
  template <typename Exchange>
  auto authorised(HttpRequest& request, const Exchange& exchange);

  const std::string endpoint_;
  HttpClient& http_;
  Credentials& credentials_;
};

// The error that an answer with this status stands for. `permission` is what the request needs,
// like "storage.objects.get".
Error gcs_error(int status, const HttpHeaders& headers, std::string_view body, const Uri& uri,
                std::string_view permission);

// An object's JSON. Throws kUnavailable when it cannot be read.
Stat parse_gcs_object(std::string_view json, const Uri& bucket);

// A CRC-32C as Google writes it: base64 of four big-endian bytes. nullopt: not that.
std::optional<uint32_t> parse_gcs_crc(std::string_view base64);
std::string gcs_crc(uint32_t crc);

}  // namespace berth
