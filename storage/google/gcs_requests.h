#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "storage/google/credentials.h"
#include "storage/http/http_client.h"
#include "storage/storage.h"

namespace berth {

// Sends authorized requests to the JSON API (https://cloud.google.com/storage/docs/json_api). If
// the answer is 401, drops the token and sends the request once more with a new one. Thread-safe.
// `http` and `credentials` must outlive it.
class GcsRequests {
 public:
  // Throws kUsage if the endpoint is not http(s)://host[:port]. `user_project` is billed for all
  // requests; empty: the project of each bucket is.
  GcsRequests(std::string endpoint, HttpClient& http, Credentials& credentials,
              std::string user_project = {});

  // URLs for `uri`, which is gs://bucket/object.
  std::string object(const Uri& uri) const;   // metadata
  std::string media(const Uri& uri) const;    // content; ends in "?alt=media"
  std::string objects(const Uri& uri) const;  // the bucket's listing
  std::string uploads(const Uri& uri) const;  // creates objects in the bucket

  HttpAnswer send(HttpRequest request);
  std::unique_ptr<HttpStream> open(HttpRequest request);

 private:
  template <typename Exchange>
  auto authorised(HttpRequest& request, const Exchange& exchange);

  const std::string endpoint_, user_project_;
  HttpClient& http_;
  Credentials& credentials_;
};

// Returns the error that an answer with this status means. `permission` is the permission that the
// request needs, such as "storage.objects.get".
Error gcs_error(int status, const HttpHeaders& headers, std::string_view body, const Uri& uri,
                std::string_view permission);

// Parses an object's JSON description. Throws kUnavailable if it is malformed.
Stat parse_gcs_object(std::string_view json, const Uri& bucket);

// Convert a CRC-32C from and to Google's format: base64 of four big-endian bytes. Parsing returns
// nullopt if the text is malformed.
std::optional<uint32_t> parse_gcs_crc(std::string_view base64);
std::string gcs_crc(uint32_t crc);

}  // namespace berth
