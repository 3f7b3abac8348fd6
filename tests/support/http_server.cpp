#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "storage/base/text.h"
#include "tests/support/http_connection.h"

namespace berth {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool WithoutCase::operator()(std::string_view a, std::string_view b) const {
  const int order = ::strncasecmp(a.data(), b.data(), std::min(a.size(), b.size()));
  return order != 0 ? order < 0 : a.size() < b.size();
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool triple = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    decoded +=
        triple ? static_cast<char>(16 * hex_digit(text[i + 1]) + hex_digit(text[i + 2])) : text[i];
    if (triple) i += 2;
  }
  return decoded;
}

std::optional<std::string> ServedRequest::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> ServedRequest::parameter(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::nullopt : std::optional(found->second);
}

HttpServer::HttpServer(Handle handle, HttpServerOptions options)
    : handle_(std::move(handle)), options_(std::move(options)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any_address = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || ::bind(listener_, any_address, size) != 0 || ::listen(listener_, 256) != 0 ||
      ::getsockname(listener_, any_address, &size) != 0) {
    throw std::runtime_error("no free port for a test server");
  }
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { accept_all(); });
}

HttpServer::~HttpServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    for (Connection& connection : connections_) {
      if (!connection.ended) ::shutdown(connection.fd, SHUT_RDWR);
    }
  }
  accepting_.join();
  for (Connection& connection : connections_) connection.thread.join();
  ::close(listener_);
}

std::string HttpServer::url() const { return cat("http://127.0.0.1:", port_); }

size_t HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

void HttpServer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      if (fd >= 0) ::close(fd);
      return;
    }
    if (fd < 0) continue;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    connections_.remove_if([](Connection& old) {
      if (old.ended) old.thread.join();
      return old.ended;
    });
    ++accepted_;
    Connection& connection = connections_.emplace_back(Connection{.fd = fd});
    connection.thread = std::thread([this, &connection] { serve(connection); });
  }
}

void HttpServer::serve(Connection& connection) {
  HttpConnection wire(connection.fd, *bodies_, options_.bytes_per_second);
  ServedRequest request;
  for (bool open = true; open && wire.read_header(request);) {
    {
      const std::lock_guard lock(mutex_);
      request.number = ++requests_;
    }
    try {
      const auto limit = options_.cut_body ? options_.cut_body(request) : std::nullopt;
      if (!wire.read_body(request, limit)) break;
      ServedAnswer answer = handle_(request);
      if (!request.complete) answer.fault.reset = true;
      if (options_.latency_s > 0 && !wire.pause(options_.latency_s)) break;
      open = wire.write(answer, request.method == "HEAD");
    } catch (const std::exception&) {
      break;
    }
    const auto asked = request.header("Connection");
    if (asked && lower_ascii(*asked) == "close") open = false;
  }
  const std::lock_guard lock(mutex_);
  ::close(connection.fd);
  connection.ended = true;
}

}  // namespace berth
