#pragma once

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

// Header fields of a request or an answer, in order. Names compare without case.
class HttpHeaders {
 public:
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<std::pair<std::string, std::string>> fields)
      : fields_(fields) {}

  void add(std::string name, std::string value);
  void add(const HttpHeaders& more);

  // The first field's value, or all of them in order.
  std::optional<std::string> find(std::string_view name) const;
  std::vector<std::string> find_all(std::string_view name) const;

  // How long Retry-After asks to wait, in seconds or until a date (RFC 9110, 10.2.3), at most an
  // hour; 0 where it is absent, past or neither.
  double retry_after_s() const;

  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
  bool operator==(const HttpHeaders&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url{};
  HttpHeaders headers{};      // may hold secrets: never logged
  std::vector<Bytes> body{};  // pieces, sent end to end; borrowed until the call returns
  double timeout_s = 0;       // of the whole exchange; 0: the stall timeout alone ends it
  bool bypass_proxy = false;
  bool follow_redirects = false;  // to http(s) only, never from https to http
  std::stop_token stop{};         // open() and read() give up with kStopped soon after
};

struct HttpAnswer {
  int status = 0;
  HttpHeaders headers{};
  std::string body{};

  bool ok() const { return status >= 200 && status < 300; }
};

// An answer whose body is still arriving: read() returns 0 only at its true end, by Content-Length
// or the last chunk. Destroyed early, the connection is closed.
class HttpStream : public ByteSource {
 public:
  virtual int status() const = 0;
  virtual const HttpHeaders& headers() const = 0;  // of the last answer, where redirects led to it
};

// One request, one try: HTTP/1.1 over connections that are kept and reused. Thread-safe.
//
// Any answer that arrives is returned, whatever its status. What keeps one from arriving is
// kUnavailable when another try may help (resolve, connect, reset, cut short, stalled),
// kNotPermitted for a certificate that does not verify, kUsage for a malformed URL. Errors name the
// host alone: paths and queries may hold secrets.
class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // Returns once the header has arrived.
  virtual std::unique_ptr<HttpStream> open(const HttpRequest& request) = 0;

  // The same with the whole body, of at most 64 MiB (more is kUnavailable).
  HttpAnswer send(const HttpRequest& request);
};

struct HttpClientOptions {
  std::string user_agent = "berth";
  double connect_timeout_s = 20;
  double stall_timeout_s = 60;  // fewer than 1 KiB either way in so long, while we wait, is a stall
  std::function<bool()> gives_up{};  // asked again and again: whether to end everything by kStopped
};

// libcurl's. TLS certificates are always verified.
std::unique_ptr<HttpClient> make_http_client(const HttpClientOptions& options);

// Whether what is sent to this URL can be read on the way: http:// to another machine. Loopback is
// localhost, 127.0.0.0/8 and [::1].
bool travels_in_the_clear(std::string_view url);

// A component of a path, or of a query's value: all but A-Z a-z 0-9 - . _ ~ as %XX (RFC 3986).
std::string percent_encoded(std::string_view text);

// name=value&... as application/x-www-form-urlencoded; empty values are left out.
std::string form_encoded(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace berth
