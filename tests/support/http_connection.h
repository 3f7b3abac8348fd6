#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tests/support/http_server.h"

namespace berth {

// The server's end of a TCP connection that speaks HTTP/1.1. Functions return false or nullopt when
// the connection has ended, because the peer closed it or because someone called shutdown() on the
// descriptor.
class HttpConnection {
 public:
  // Borrows `fd`, and `bodies`, from which the memory of request bodies is taken.
  // `bytes_per_second` 0: no limit.
  HttpConnection(int fd, RecycledBytes& bodies, double bytes_per_second);

  // Reads the next request without its body.
  bool read_header(ServedRequest& request);

  // Reads the body, at most `limit` bytes of it if there is a limit. Sets `request.complete` to
  // whether the whole body was read.
  bool read_body(ServedRequest& request, std::optional<uint64_t> limit);

  // Sends `answer` with its faults. False: the connection must not be used again.
  bool write(const ServedAnswer& answer, bool without_body);

  bool pause(double seconds);  // false: the connection ended during the pause
  void reset_on_close();

 private:
  bool fill();  // receives more bytes into buffer_
  std::optional<std::string> line();
  bool take(char* to, size_t size);
  bool take_sized(ServedRequest& request, uint64_t size, std::optional<uint64_t> limit);
  bool take_chunks(ServedRequest& request, std::optional<uint64_t> limit);
  bool send_all(std::span<iovec> pieces);
  bool send(std::string_view bytes, std::string_view more = {}, std::string_view last = {});
  bool write_body(const ServedAnswer& answer);
  bool write_piece(std::string_view piece, bool chunked);
  bool keep_pace(size_t bytes);

  const int fd_;
  RecycledBytes& bodies_;
  const double bytes_per_second_;
  std::string buffer_;  // received bytes; those from begin_ to end_ are not yet taken
  size_t begin_ = 0, end_ = 0;
  double paced_bytes_ = 0;
  std::chrono::steady_clock::time_point paced_since_;
};

}  // namespace berth
