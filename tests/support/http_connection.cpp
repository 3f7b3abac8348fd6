#include "tests/support/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr size_t kLongestLine = size_t{32} << 10;
constexpr size_t kPieceBytes = size_t{64} << 10;  // in a piece of a chunked or rate-limited body

void split_target(ServedRequest& request) {
  const std::string_view target = request.target;
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  request.query.clear();
  if (question == std::string_view::npos) return;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    std::string pair(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::replace(pair.begin(), pair.end(), '+', ' ');
    const size_t equals = std::min(pair.find('='), pair.size());
    request.query[percent_decoded(pair.substr(0, equals))] =
        equals < pair.size() ? percent_decoded(pair.substr(equals + 1)) : "";
  }
}

}  // namespace

HttpConnection::HttpConnection(int fd, RecycledBytes& bodies, double bytes_per_second)
    : fd_(fd), bodies_(bodies), bytes_per_second_(bytes_per_second), buffer_(kBufferBytes, '\0') {}

bool HttpConnection::pause(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const double left =
        std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return true;
    timespec wait{static_cast<time_t>(left), static_cast<long>((left - std::floor(left)) * 1e9)};
    pollfd watched{fd_, POLLRDHUP, 0};
    if (::ppoll(&watched, 1, &wait, nullptr) > 0) return false;
  }
}

void HttpConnection::reset_on_close() {
  const linger none{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

bool HttpConnection::fill() {
  const ssize_t count = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
  begin_ = 0;
  end_ = count > 0 ? static_cast<size_t>(count) : 0;
  return count > 0;
}

std::optional<std::string> HttpConnection::line() {
  std::string text;
  while (text.size() < kLongestLine) {
    if (begin_ == end_ && !fill()) return std::nullopt;
    const auto* start = buffer_.data() + begin_;
    const auto* feed = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    const size_t size = feed != nullptr ? static_cast<size_t>(feed - start) : end_ - begin_;
    text.append(start, size);
    begin_ += size + (feed != nullptr ? 1 : 0);
    if (feed == nullptr) continue;
    if (!text.empty() && text.back() == '\r') text.pop_back();
    return text;
  }
  return std::nullopt;
}

bool HttpConnection::read_header(ServedRequest& request) {
  const auto first = line();
  if (!first) return false;
  const size_t method_end = first->find(' ');
  const size_t target_end = first->rfind(' ');
  if (method_end == std::string::npos || target_end <= method_end) return false;
  request.method = first->substr(0, method_end);
  request.target = first->substr(method_end + 1, target_end - method_end - 1);
  request.complete = true;
  split_target(request);
  request.headers.clear();
  if (first->ends_with("HTTP/1.0")) request.headers["Connection"] = "close";
  for (;;) {
    const auto field = line();
    if (!field) return false;
    if (field->empty()) return true;
    const size_t colon = field->find(':');
    if (colon == std::string::npos) return false;
    const std::string value(trimmed(std::string_view(*field).substr(colon + 1)));
    auto [known, is_new] = request.headers.emplace(field->substr(0, colon), value);
    if (!is_new) known->second += ", " + value;
  }
}

// Reads directly into `to`. Only the first bytes of a large body pass through buffer_.
bool HttpConnection::take(char* to, size_t size) {
  const size_t known = std::min(size, end_ - begin_);
  std::memcpy(to, buffer_.data() + begin_, known);
  begin_ += known;
  for (size_t done = known; done < size;) {
    const size_t piece = bytes_per_second_ > 0 ? std::min(size - done, kPieceBytes) : size - done;
    const ssize_t count = ::recv(fd_, to + done, piece, MSG_WAITALL);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
    if (!keep_pace(static_cast<size_t>(count))) return false;
  }
  return true;
}

bool HttpConnection::take_sized(ServedRequest& request, uint64_t size,
                                std::optional<uint64_t> limit) {
  const uint64_t wanted = std::min(size, limit.value_or(size));
  request.complete = wanted == size;
  std::string body = bodies_.take(wanted);
  if (!take(body.data(), wanted)) return false;
  request.body = bodies_.share(std::move(body));
  return true;
}

bool HttpConnection::take_chunks(ServedRequest& request, std::optional<uint64_t> limit) {
  std::string body;
  for (;;) {
    const auto head = line();
    if (!head) return false;
    const size_t size = std::strtoull(head->c_str(), nullptr, 16);
    if (size == 0) break;
    const size_t before = body.size();
    const size_t wanted = limit ? std::min<uint64_t>(size, *limit - before) : size;
    body.resize(before + wanted);
    if (!take(body.data() + before, wanted)) return false;
    if (wanted < size) {
      request.complete = false;
      break;
    }
    if (!line()) return false;
  }
  request.body = bodies_.share(std::move(body));
  if (!request.complete) return true;
  for (;;) {  // trailers
    const auto trailer = line();
    if (!trailer) return false;
    if (trailer->empty()) return true;
  }
}

bool HttpConnection::read_body(ServedRequest& request, std::optional<uint64_t> limit) {
  paced_bytes_ = 0;
  if (const auto expect = request.header("Expect");
      expect && lower_ascii(*expect) == "100-continue") {
    if (!send("HTTP/1.1 100 Continue\r\n\r\n")) return false;
  }
  const auto encoding = request.header("Transfer-Encoding");
  if (encoding && lower_ascii(*encoding) == "chunked") return take_chunks(request, limit);
  const auto length = request.header("Content-Length");
  return take_sized(request, length ? std::strtoull(length->c_str(), nullptr, 10) : 0, limit);
}

bool HttpConnection::keep_pace(size_t bytes) {
  if (bytes_per_second_ <= 0) return true;
  const auto now = std::chrono::steady_clock::now();
  if (paced_bytes_ == 0) paced_since_ = now;
  paced_bytes_ += static_cast<double>(bytes);
  const double passed = std::chrono::duration<double>(now - paced_since_).count();
  return pause(paced_bytes_ / bytes_per_second_ - passed);
}

bool HttpConnection::send_all(std::span<iovec> pieces) {
  while (!pieces.empty()) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const ssize_t count = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (count < 0) return false;
    auto left = static_cast<size_t>(count);
    while (!pieces.empty() && left >= pieces.front().iov_len) {
      left -= pieces.front().iov_len;
      pieces = pieces.subspan(1);
    }
    if (pieces.empty()) break;
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + left;
    pieces.front().iov_len -= left;
  }
  return true;
}

bool HttpConnection::send(std::string_view bytes, std::string_view more, std::string_view last) {
  const auto piece = [](std::string_view view) {
    return iovec{const_cast<char*>(view.data()), view.size()};
  };
  iovec pieces[] = {piece(bytes), piece(more), piece(last)};
  return send_all(pieces);
}

bool HttpConnection::write_piece(std::string_view piece, bool chunked) {
  if (!chunked) return send(piece);
  char size[24];
  std::snprintf(size, sizeof(size), "%zx\r\n", piece.size());
  return send(size, piece, "\r\n");
}

bool HttpConnection::write_body(const ServedAnswer& answer) {
  const WireFault& fault = answer.fault;
  const std::string_view body = answer.body.view();
  const size_t end = std::min(body.size(), fault.cut_after.value_or(body.size()));
  size_t longest = body.size();
  if (answer.chunked || bytes_per_second_ > 0) longest = kPieceBytes;
  if (fault.drip_bytes > 0) longest = fault.drip_bytes;
  const auto until = [](size_t next, size_t at, std::optional<size_t> event) {
    return event && *event > at ? std::min(next, *event) : next;
  };
  paced_bytes_ = 0;
  for (size_t at = 0; at < end;) {
    if (fault.stall_at == at && !pause(fault.stall_s)) return false;
    size_t next = std::min(end, at + longest);
    next = until(until(next, at, fault.stall_at), at, fault.flip_byte);
    if (fault.flip_byte == at) {
      next = at + 1;
      const char damaged = static_cast<char>(body[at] ^ 0x10);
      if (!write_piece({&damaged, 1}, answer.chunked)) return false;
    } else if (!write_piece(body.substr(at, next - at), answer.chunked)) {
      return false;
    }
    if (!keep_pace(next - at)) return false;
    at = next;
    if (fault.drip_bytes > 0 && at < end && !pause(fault.drip_s)) return false;
  }
  if (end < body.size()) {
    if (fault.cut_resets) reset_on_close();
    return false;
  }
  return !answer.chunked || send("0\r\n\r\n");
}

bool HttpConnection::write(const ServedAnswer& answer, bool without_body) {
  const WireFault& fault = answer.fault;
  if (fault.reset) {
    reset_on_close();
    return false;
  }
  if (fault.stall_s > 0 && !fault.stall_at && !pause(fault.stall_s)) return false;
  std::string head = cat("HTTP/1.1 ", answer.status, " Status\r\n");
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  const bool has_body = answer.status != 204 && answer.status != 304;
  if (has_body && answer.chunked) head += "Transfer-Encoding: chunked\r\n";
  if (has_body && !answer.chunked) head += cat("Content-Length: ", answer.body.size(), "\r\n");
  head += "\r\n";
  if (fault.cut_header) {
    send(std::string_view(head).substr(0, head.size() / 2));
    return false;
  }
  const bool plain = !answer.chunked && bytes_per_second_ <= 0 && !fault.cut_after &&
                     !fault.flip_byte && !fault.stall_at && fault.drip_bytes == 0;
  if (!has_body || without_body) return send(head);
  if (plain) return send(head, answer.body.view());  // a small answer is one packet
  return send(head) && write_body(answer);
}

}  // namespace berth
