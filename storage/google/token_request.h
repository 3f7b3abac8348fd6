#pragma once

#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/http/http_client.h"

namespace berth {

// One question to a server that gives tokens, and how messages speak of it.
struct TokenRequest {
  std::string method = "POST";
  std::string url{};
  HttpHeaders headers{};
  std::string body{};
  double timeout_s = 30;

  std::string where{};                 // of errors: the credential file
  std::string hint{};                  // of a refusal
  std::vector<std::string> secrets{};  // of what is sent: an answer may echo them
};

// One try. Throws unless the answer is a success of at most 1 MiB: kUnavailable when another try
// may help, kNotPermitted when not. Redirects are refusals.
HttpAnswer ask_token_server(HttpClient& http, const TokenRequest& request);

// Any answer. Plain http, which is to this machine or its metadata server, goes past any proxy.
HttpAnswer exchange(HttpClient& http, const TokenRequest& request);

// Why the server refused, by OAuth's `error` (RFC 6749, 5.2) or Google's (status, message). The
// server's words are cut and printable, and hold nothing secret that was sent.
Error refusal(const HttpAnswer& answer, const TokenRequest& request);

}  // namespace berth
