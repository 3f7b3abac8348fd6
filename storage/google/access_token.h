#pragma once

#include <string>

#include "storage/base/clock.h"
#include "storage/http/http_client.h"

namespace berth {

struct AccessToken {
  std::string value;
  double expires_at_s = 0;  // seconds since 1970
};

// Obtains access tokens for one identity. Not thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Requests a new token, in one attempt. Throws as Credentials::headers() does.
  virtual AccessToken fetch() = 0;
};

// What the token sources have in common.
struct TokenContext {
  HttpClient& http;  // must outlive the token sources
  Clock now;         // seconds since 1970
  std::string metadata_host;
};

// OAuth scopes: access to storage objects only, or to all of Google Cloud, which is needed to
// request another account's token.
inline constexpr char kStorageScope[] = "https://www.googleapis.com/auth/devstorage.read_write";
inline constexpr char kCloudScope[] = "https://www.googleapis.com/auth/cloud-platform";

}  // namespace berth
