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

// Orders header field names without regard to case.
struct WithoutCase {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

// A request as the server received it. The server shares no code with the client under test.
struct ServedRequest {
  uint64_t number = 0;  // counts the requests to this server from 1
  std::string method;
  std::string target;                                       // as sent: path, "?", query
  std::string path;                                         // as sent, so still percent-encoded
  std::map<std::string, std::string> query;                 // names and values are decoded
  std::map<std::string, std::string, WithoutCase> headers;  // repeated fields are joined with ", "
  SharedBytes body;
  bool complete = true;  // false: the server cut the connection within the body on purpose

  std::optional<std::string> header(std::string_view name) const;
  std::optional<std::string> parameter(const std::string& name) const;  // of the query
};

// Faults of an answer on its way to the client.
struct WireFault {
  bool reset = false;                 // resets the connection instead of answering
  bool cut_header = false;            // closes the connection after half of the header
  std::optional<size_t> cut_after{};  // closes the connection after so many bytes of the body
  bool cut_resets = false;            // cut_after resets the connection instead of closing it
  std::optional<size_t> flip_byte{};  // flips a bit of this byte of the body
  double stall_s = 0;                 // sends nothing for so long ...
  std::optional<size_t> stall_at{};  // ... before this byte of the body; nullopt: before the header
  size_t drip_bytes = 0;             // sends so many bytes at a time ...
  double drip_s = 0;                 // ... with pauses of this length between them
};

struct ServedAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers{};
  SharedBytes body{};
  bool chunked = false;  // false: with Content-Length
  WireFault fault{};
};

struct HttpServerOptions {
  double latency_s = 0;         // waits so long before every answer
  double bytes_per_second = 0;  // limit of one connection in each direction; 0: no limit

  // Called when a request's header has arrived. If it returns a number, the connection is reset
  // after so many bytes of the body. The incomplete request is handled all the same.
  std::function<std::optional<uint64_t>(const ServedRequest&)> cut_body{};
};

// An HTTP/1.1 server on a free port of 127.0.0.1 with one thread for each connection. Several
// threads may call `handle` at the same time. If it throws, the connection ends.
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
  mutable std::mutex mutex_;  // guards the members below
  bool stopping_ = false;
  std::list<Connection> connections_;
  size_t accepted_ = 0;
  uint64_t requests_ = 0;
  std::thread accepting_;
};

// "%41" -> "A". A "%" without two hexadecimal digits is kept.
std::string percent_decoded(std::string_view text);

}  // namespace berth
