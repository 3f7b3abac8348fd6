#pragma once

#include <string>

#include "storage/base/clock.h"
#include "storage/http/http_client.h"

namespace berth {

struct AccessToken {
  std::string value;
  double expires_at_s = 0;  // since 1970
};

// Who can ask for tokens. Not thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // A new token, by one try. Throws as Credentials::headers() does.
  virtual AccessToken fetch() = 0;
};

// What sources of tokens are made with.
struct TokenContext {
  HttpClient& http;  // outlives them
  Clock now;         // since 1970
  std::string metadata_host;
};

// What a token may be used for: objects, or (to ask for another account's token) everything.
inline constexpr char kStorageScope[] = "https://www.googleapis.com/auth/devstorage.read_write";
inline constexpr char kCloudScope[] = "https://www.googleapis.com/auth/cloud-platform";

}  // namespace berth
