#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/http_server.h"

namespace berth {

// The answer to a request. `status` 0: the connection ended without an answer.
struct RawAnswer {
  int status = 0;
  std::map<std::string, std::string, WithoutCase> headers{};
  std::string body{};
  bool complete = false;  // the body ended as its header promised
};

// Sends requests over plain sockets, each on its own connection. It tests the fake servers without
// the HTTP client that they are made to test.
class RawHttp {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  explicit RawHttp(int port) : port_(port) {}

  RawAnswer send(const std::string& method, const std::string& target, const Headers& headers = {},
                 std::string_view body = {}) const {
    std::string text = method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    text += "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n";
    return parsed(exchange(text + std::string(body)));
  }

  // Sends `bytes` and returns everything that the server sends until it closes the connection.
  std::string exchange(const std::string& bytes) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::send(fd, &bytes[done], bytes.size() - done, MSG_NOSIGNAL);
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    std::string received;
    char piece[1 << 16];
    for (ssize_t count; (count = ::recv(fd, piece, sizeof(piece), 0)) > 0;) {
      received.append(piece, static_cast<size_t>(count));
    }
    ::close(fd);
    return received;
  }

 private:
  static RawAnswer parsed(const std::string& text) {
    RawAnswer answer;
    const size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) return answer;
    answer.status = std::atoi(text.c_str() + text.find(' '));
    for (size_t at = text.find("\r\n") + 2; at < end + 2;) {
      const size_t colon = text.find(": ", at), stop = text.find("\r\n", at);
      answer.headers[text.substr(at, colon - at)] = text.substr(colon + 2, stop - colon - 2);
      at = stop + 2;
    }
    const std::string rest = text.substr(end + 4);
    if (answer.headers.contains("Transfer-Encoding")) {
      for (size_t at = 0; at < rest.size();) {
        const size_t size = std::strtoul(rest.c_str() + at, nullptr, 16);
        at = rest.find("\r\n", at) + 2;
        if (size == 0) answer.complete = true;
        answer.body += rest.substr(at, size);
        at += size + 2;
      }
    } else {
      answer.body = rest;
      const auto length = answer.headers.find("Content-Length");
      answer.complete = length == answer.headers.end() || std::stoul(length->second) == rest.size();
    }
    return answer;
  }

  const int port_;
};

}  // namespace berth
