#include "entrypoint/gathering/connection.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kLengthBytes = 4;

constexpr std::array<std::string_view, 12> kKinds = {"challenge", "hello", "welcome", "later",
                                                     "refused",   "set",   "get",     "value",
                                                     "alive",     "leave", "lost",    "done"};

Error corrupt() { return Error(Code::kCorrupt, "a message that no worker of berth sends"); }

uint8_t digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  throw corrupt();
}

std::vector<std::byte> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) throw corrupt();
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(std::byte{static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1]))});
  }
  return bytes;
}

Message::Kind kind_of(const std::string& name) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == name) return static_cast<Message::Kind>(i);
  }
  throw corrupt();
}

Message parse(std::string_view json) {
  const Json parsed = parse_json(json);
  const JsonObject object(parsed, [](const auto&, const auto&) { throw corrupt(); });
  if (!object.is_there()) throw corrupt();
  const auto text = [&](const char* name) { return object.text(name).value_or(""); };
  const auto number = [&](const char* name) { return object.integer(name).value_or(0); };
  return {.kind = kind_of(text("kind")),
          .rank = number("rank"),
          .size = number("size"),
          .code = number("code"),
          .host = text("host"),
          .job = text("job"),
          .attempt = text("attempt"),
          .nonce = text("nonce"),
          .proof = text("proof"),
          .key = text("key"),
          .text = text("text"),
          .value = from_hex(text("value"))};
}

}  // namespace

std::string hex(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<size_t>(byte >> 4)];
    text += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return text;
}

std::string encode(const Message& message) {
  Json object = {{"kind", kKinds[static_cast<size_t>(message.kind)]},
                 {"rank", message.rank},
                 {"size", message.size},
                 {"code", message.code}};
  for (const auto& [name, text] :
       {std::pair("host", &message.host), std::pair("job", &message.job),
        std::pair("attempt", &message.attempt), std::pair("nonce", &message.nonce),
        std::pair("proof", &message.proof), std::pair("key", &message.key),
        std::pair("text", &message.text)}) {
    if (!text->empty()) object[name] = *text;
  }
  if (!message.value.empty()) object["value"] = hex(message.value);
  const std::string json = to_text(object);
  std::string frame;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    frame += static_cast<char>(json.size() >> (8 * i) & 0xff);
  }
  return frame + json;
}

std::optional<Message> MessageReader::next() {
  if (buffer_.size() < kLengthBytes) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<size_t>(static_cast<uint8_t>(buffer_[i])) << (8 * i);
  }
  if (length > most_bytes_) throw corrupt();
  if (buffer_.size() < kLengthBytes + length) return std::nullopt;
  Message message = parse(std::string_view(buffer_).substr(kLengthBytes, length));
  buffer_.erase(0, kLengthBytes + length);
  return message;
}

namespace {

std::string text_of(const ::sockaddr_storage& address, ::socklen_t size) {
  char host[NI_MAXHOST];
  const auto* const generic = reinterpret_cast<const ::sockaddr*>(&address);
  if (::getnameinfo(generic, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  const std::string text = host;
  return text.starts_with("::ffff:") ? text.substr(7) : text;  // IPv4 that came by an IPv6 socket
}

std::string address_by(const std::function<int(::sockaddr*, ::socklen_t*)>& ask) {
  ::sockaddr_storage address{};
  ::socklen_t size = sizeof address;
  if (ask(reinterpret_cast<::sockaddr*>(&address), &size) != 0) return "";
  return text_of(address, size);
}

// Whether a connection that was begun is made within that time.
bool is_connected(int fd, double within_s) {
  ::pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
  if (uninterrupted([&] { return ::poll(&waiting, 1, static_cast<int>(within_s * 1000)); }) != 1) {
    return false;
  }
  int error = 0;
  ::socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

struct FreesAddresses {
  void operator()(::addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};

}  // namespace

Connection::Connection(FileDescriptor fd) : fd_(std::move(fd)) {
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Connection::send(const Message& message) {
  if (!is_open()) return;
  unsent_ += encode(message);
  flush();
}

void Connection::flush() {
  while (is_open() && !unsent_.empty()) {
    const ssize_t sent = uninterrupted(
        [&] { return ::send(fd(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT); });
    if (sent < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) close();
      return;
    }
    unsent_.erase(0, static_cast<size_t>(sent));
  }
}

void Connection::receive(const std::function<void(Message)>& handle) {
  if (!is_open() || is_behind()) return;
  std::byte buffer[16384];
  const ssize_t got =
      uninterrupted([&] { return ::recv(fd(), buffer, sizeof buffer, MSG_DONTWAIT); });
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got <= 0) return close();
  heard_s_ = steady_clock_s();
  reader_.add(Bytes(buffer, static_cast<size_t>(got)));
  while (is_open()) {
    std::optional<Message> message;
    try {
      message = reader_.next();
    } catch (const Error&) {  // somebody who is no worker
      return close();
    }
    if (!message) return;
    handle(std::move(*message));
  }
}

std::string Connection::own_address() const {
  return address_by(
      [&](::sockaddr* to, ::socklen_t* size) { return ::getsockname(fd(), to, size); });
}

std::string Connection::other_address() const {
  return address_by(
      [&](::sockaddr* to, ::socklen_t* size) { return ::getpeername(fd(), to, size); });
}

std::optional<FileDescriptor> connect_to(const std::string& host, int64_t port, double within_s) {
  ::addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  ::addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) {
    return std::nullopt;  // the name of a pod exists once the pod does
  }
  const std::unique_ptr<::addrinfo, FreesAddresses> addresses(found);
  for (const ::addrinfo* each = found; each != nullptr; each = each->ai_next) {
    FileDescriptor fd(
        ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) continue;
    const int result = ::connect(fd.get(), each->ai_addr, each->ai_addrlen);
    if (result == 0 || (errno == EINPROGRESS && is_connected(fd.get(), within_s))) return fd;
  }
  return std::nullopt;
}

Listener listen_on(int64_t port) {
  for (const int family : {AF_INET6, AF_INET}) {
    FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) continue;
    const int on = 1, off = 0;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::sockaddr_storage address{};
    ::socklen_t size = 0;
    if (family == AF_INET6) {
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      auto& any = reinterpret_cast<::sockaddr_in6&>(address);
      any.sin6_family = AF_INET6;
      any.sin6_addr = in6addr_any;
      any.sin6_port = htons(static_cast<uint16_t>(port));
      size = sizeof any;
    } else {
      auto& any = reinterpret_cast<::sockaddr_in&>(address);
      any.sin_family = AF_INET;
      any.sin_port = htons(static_cast<uint16_t>(port));
      size = sizeof any;
    }
    auto* const generic = reinterpret_cast<::sockaddr*>(&address);
    if (::bind(fd.get(), generic, size) != 0) {
      if (errno == EADDRINUSE) break;
      continue;  // a host without IPv6
    }
    if (::listen(fd.get(), SOMAXCONN) != 0) break;
    ::socklen_t bound_size = sizeof address;
    ::getsockname(fd.get(), generic, &bound_size);
    const uint16_t bound = family == AF_INET6 ? reinterpret_cast<::sockaddr_in6&>(address).sin6_port
                                              : reinterpret_cast<::sockaddr_in&>(address).sin_port;
    return {.fd = std::move(fd), .port = ntohs(bound)};
  }
  throw Error(Code::kUnavailable, cat("cannot listen on port ", port, ": ", std::strerror(errno)),
              "--master-port", "give a port that no other process of this host uses");
}

std::string address_of_this_host() {
  // A datagram socket that is "connected" only chooses a route.
  const FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ::sockaddr_in anywhere{};
  anywhere.sin_family = AF_INET;
  anywhere.sin_port = htons(9);
  ::inet_pton(AF_INET, "192.0.2.1", &anywhere.sin_addr);
  if (::connect(fd.get(), reinterpret_cast<const ::sockaddr*>(&anywhere), sizeof anywhere) != 0) {
    return "127.0.0.1";
  }
  const std::string own = address_by(
      [&](::sockaddr* to, ::socklen_t* size) { return ::getsockname(fd.get(), to, size); });
  return own.empty() ? "127.0.0.1" : own;
}

}  // namespace berth
