#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/recycled_bytes.h"
#include "tests/support/shared_bytes.h"

namespace berth {

// Orders names of header fields without their case.
struct WithoutCase {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

// A request as it came. Shares no code with the client that tests aim it at.
struct ServedRequest {
  uint64_t number = 0;  // of all requests to this server, from 1
  std::string method;
  std::string target;                                       // as sent: path, "?", query
  std::string path;                                         // as sent, so still percent-encoded
  std::map<std::string, std::string> query;                 // both decoded
  std::map<std::string, std::string, WithoutCase> headers;  // repeated ones joined with ", "
  SharedBytes body;
  bool complete = true;  // false: the connection was cut on purpose within the body

  std::optional<std::string> header(std::string_view name) const;
  std::optional<std::string> parameter(const std::string& name) const;  // of the query
};

// How an answer goes wrong on its way.
struct WireFault {
  bool reset = false;                 // no answer: the connection is reset
  bool cut_header = false;            // half of the header, then the end
  std::optional<size_t> cut_after{};  // so many bytes of the body, then the end
  bool cut_resets = false;            // ... by a reset
  std::optional<size_t> flip_byte{};  // this byte of the body arrives with a bit turned
  double stall_s = 0;                 // a silence ...
  std::optional<size_t> stall_at{};   // ... before this byte of the body; else before the header
  size_t drip_bytes = 0;              // so many bytes at a time ...
  double drip_s = 0;                  // ... with such pauses in between
};

struct ServedAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers{};
  SharedBytes body{};
  bool chunked = false;  // else with Content-Length
  WireFault fault{};
};

struct HttpServerOptions {
  double latency_s = 0;         // before every answer
  double bytes_per_second = 0;  // either way on one connection; 0: as fast as it goes

  // Asked when a request's header has come: after so many bytes of its body the connection is
  // reset, and the request handled as it is then, marked incomplete.
  std::function<std::optional<uint64_t>(const ServedRequest&)> cut_body{};
};

// HTTP/1.1 on a free port of 127.0.0.1, a thread a connection. `handle` is called by many threads
// at once; what it throws ends the connection.
class HttpServer {
 public:
  using Handle = std::function<ServedAnswer(const ServedRequest&)>;

  explicit HttpServer(Handle handle, HttpServerOptions options = {});
  ~HttpServer();  // ends every connection at once, stalled ones too
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  std::string url() const;     // "http://127.0.0.1:PORT"
  size_t connections() const;  // accepted so far

 private:
  struct Connection {
    int fd;
    bool ended = false;
    std::thread thread{};
  };

  void accept_all();
  void serve(Connection& connection);

  const Handle handle_;
  const HttpServerOptions options_;
  const std::shared_ptr<RecycledBytes> bodies_ = std::make_shared<RecycledBytes>();
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;  // of what follows
  bool stopping_ = false;
  std::list<Connection> connections_;
  size_t accepted_ = 0;
  uint64_t requests_ = 0;
  std::thread accepting_;
};

// "%41" -> "A"; a "%" that begins no such triple stays.
std::string percent_decoded(std::string_view text);

}  // namespace berth
