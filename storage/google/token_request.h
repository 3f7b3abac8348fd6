#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/error.h"
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

// Checks that a token or key may be sent to `url`. Allowed are https, and plain http to this
// machine or to a metadata server: `metadata_host`, Google's or Azure's. Throws kUsage, located at
// `where`, for any other URL. `name` is what the message calls the URL.
void require_private_url(const std::string& url, const std::string& metadata_host,
                         const std::string& name, const std::string& where);

// Returns "oauth2.googleapis.com" for "https://oauth2.googleapis.com/token". Messages show no more
// of a URL.
std::string host_of_url(const std::string& url);

// A request to a server that issues tokens, and what messages need to describe it.
struct TokenRequest {
  std::string method = "POST";
  std::string url{};
  HttpHeaders headers{};
  std::string body{};
  double timeout_s = 30;
  double connect_timeout_s = 0;  // 0: the client's

  std::string where{};                 // for errors: the credential file
  std::string hint{};                  // shown if the server refuses
  std::vector<std::string> secrets{};  // secrets that are sent: the answer may echo them
};

// Makes one attempt. Throws kUnavailable if another attempt may help, and kNotPermitted otherwise,
// unless the answer is a success of at most 1 MiB. A redirect counts as a refusal.
HttpAnswer ask_token_server(HttpClient& http, const TokenRequest& request);

// Returns the answer, whatever its status. Plain http goes only to this machine or its metadata
// server, so it bypasses any proxy.
HttpAnswer exchange(HttpClient& http, const TokenRequest& request);

// Returns the error for a refusal, with the server's reason: OAuth's `error` (RFC 6749, 5.2), or
// Google's status and message. The server's text is shortened, made printable, and stripped of the
// secrets that were sent.
Error refusal(const HttpAnswer& answer, const TokenRequest& request);

// Parses {"access_token": "...", "expires_in": 3599}. `asked_at_s` is when the request was sent.
// expires_in may be a string. Throws kNotPermitted for anything else.
AccessToken parse_token_answer(const HttpAnswer& answer, double asked_at_s,
                               const TokenRequest& request);

// The refresh token in such an answer, which replaces the one that was sent. nullopt if there is
// no text of this name.
std::optional<std::string> new_refresh_token(const HttpAnswer& answer, const TokenRequest& request);

// Parses the IAM service's {"accessToken": "...", "expireTime": "2026-01-31T23:59:59Z"}. Throws as
// above.
AccessToken parse_iam_answer(const HttpAnswer& answer, const TokenRequest& request);

}  // namespace berth
