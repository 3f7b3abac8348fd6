#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// The header fields of a request or an answer, in order. Names are compared without regard to case.
class HttpHeaders {
 public:
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<std::pair<std::string, std::string>> fields)
      : fields_(fields) {}

  void add(std::string name, std::string value);
  void add(const HttpHeaders& more);

  // The value of the first field of this name, or the values of all of them.
  std::optional<std::string> find(std::string_view name) const;
  std::vector<std::string> find_all(std::string_view name) const;

  // The pause that Retry-After asks for, in seconds (RFC 9110, 10.2.3). The field holds seconds or
  // a date. Returns 0 if it is absent, in the past or malformed, and at most an hour.
  double retry_after_s() const;

  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
  bool operator==(const HttpHeaders&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url{};
  HttpHeaders headers{};         // may contain secrets, so they are never logged
  std::vector<Bytes> body{};     // sent one after the other; borrowed until the call returns
  double timeout_s = 0;          // for the whole exchange; 0: only the stall timeout applies
  double connect_timeout_s = 0;  // 0: the client's
  bool bypass_proxy = false;
  // Only to http(s), never from https to http, and never where refused_redirect() says so.
  bool follow_redirects = false;
  bool is_redirected = false;  // the caller follows redirects, and a server named this URL
  std::stop_token stop{};      // open() and read() throw kStopped soon after a request
};

struct HttpAnswer {
  int status = 0;
  HttpHeaders headers{};
  std::string body{};

  bool ok() const { return status >= 200 && status < 300; }
};

// Whether a server that answers with this status may answer otherwise soon (RFC 9110, 15.5
// and 15.6). It will not implement a method (501) or another version of HTTP (505).
constexpr bool is_transient(int status) {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

// An answer whose body is still arriving. read() returns 0 only at the true end of the body, as
// given by Content-Length or the last chunk. Destroying the stream earlier closes the connection.
class HttpStream : public ByteSource {
 public:
  virtual int status() const = 0;
  virtual const HttpHeaders& headers() const = 0;  // of the final answer, after any redirects
};

// Sends HTTP/1.1 requests over connections that stay open and are reused. It makes one attempt per
// request. Thread-safe.
//
// Every answer is returned, whatever its status. If no answer arrives, throws kUnavailable if
// another attempt may help (name resolution, connection refused or reset, truncated or stalled
// transfer). Throws kNotPermitted if the certificate cannot be verified or a redirect is not
// followed. Throws kUsage if the URL is malformed or a credential would be sent unencrypted. Errors
// name only the host, because paths and queries may contain secrets.
class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // Returns as soon as the answer's header has arrived.
  virtual std::unique_ptr<HttpStream> open(const HttpRequest& request) = 0;

  // Sends a request and reads the whole body. Throws kUnavailable if it exceeds 64 MiB.
  HttpAnswer send(const HttpRequest& request);
};

// The authorities whose certificates make a server trusted: a file of certificates in PEM, and a
// folder of such files as `openssl rehash` names them. An empty one stands for what libcurl was
// built with.
struct CertificateAuthorities {
  std::string file{}, folder{};
};

struct HttpClientOptions {
  std::string user_agent = "berth";
  double connect_timeout_s = 20;
  double stall_timeout_s =
      60;  // throws kUnavailable if we wait that long while less than 1 KiB moves
  CertificateAuthorities authorities{};
  std::function<bool()> gives_up{};  // polled during transfers; true makes them throw kStopped
};

// Returns a client that uses libcurl. It always verifies TLS certificates.
std::unique_ptr<HttpClient> make_http_client(const HttpClientOptions& options);

// Whether a request to this URL can be read on its way: plain http to another machine. localhost,
// 127.0.0.0/8 and [::1] are this machine.
bool travels_in_the_clear(std::string_view url);

// Throws kUsage, naming `named_by`, where a request that travels in the clear has a credential: a
// field Authorization, or a user in its URL. Every client calls it for every request. Code that
// knows the address earlier calls it before the work begins.
void require_private_credentials(const HttpRequest& request, const std::string& named_by);

// Parts of the problem() of an error: the name of a server cannot be resolved; no server accepted a
// connection.
inline constexpr std::string_view kUnknownHost = "no server has this name";
inline constexpr std::string_view kNoConnection = "no connection";

// Encodes a path component or a query value: everything except A-Z a-z 0-9 - . _ ~ becomes %XX (RFC
// 3986).
std::string percent_encoded(std::string_view text);

// Encodes fields as application/x-www-form-urlencoded (name=value&...). Fields with empty values
// are left out.
std::string form_encoded(const std::vector<std::pair<std::string, std::string>>& fields);

// A server that names the next address must not choose an address that only this machine can reach:
// the metadata servers of clouds give credentials to whoever asks.

// Whether the address is link-local (169.254.0.0/16, fe80::/10), also as an IPv4 address in IPv6,
// or is the one of a metadata server in IPv6.
bool is_link_local(const sockaddr& address);

// Why a redirect to this value of a Location field is not followed; empty: it may be. A redirect is
// refused if it is malformed, or if its host is a link-local address or Google's metadata server.
// Other names may lead there, too, so the code that connects calls is_link_local() again.
std::string refused_redirect(std::string_view location);

}  // namespace berth
