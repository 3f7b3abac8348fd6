#pragma once

#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/http/http_client.h"

namespace berth {

// A request to a server that issues tokens, and what messages need to describe it.
struct TokenRequest {
  std::string method = "POST";
  std::string url{};
  HttpHeaders headers{};
  std::string body{};
  double timeout_s = 30;

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

}  // namespace berth
