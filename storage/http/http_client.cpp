#include "storage/http/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr uint64_t kLongestBody = uint64_t{64} << 20;

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

void HttpHeaders::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void HttpHeaders::add(const HttpHeaders& more) {
  fields_.insert(fields_.end(), more.fields_.begin(), more.fields_.end());
}

std::optional<std::string> HttpHeaders::find(std::string_view name) const {
  const std::string wanted = lower_ascii(name);
  for (const auto& [field, value] : fields_) {
    if (lower_ascii(field) == wanted) return value;
  }
  return std::nullopt;
}

std::vector<std::string> HttpHeaders::find_all(std::string_view name) const {
  const std::string wanted = lower_ascii(name);
  std::vector<std::string> values;
  for (const auto& [field, value] : fields_) {
    if (lower_ascii(field) == wanted) values.push_back(value);
  }
  return values;
}

double HttpHeaders::retry_after_s() const {
  constexpr double kMost_s = 3600;
  const std::string text = find("retry-after").value_or("");
  if (const std::optional<uint64_t> seconds = parse_number(text)) {
    return std::min(static_cast<double>(*seconds), kMost_s);
  }
  std::tm date{};
  const char* const end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (end == nullptr || *end != '\0') return 0;
  return std::clamp(std::difftime(timegm(&date), std::time(nullptr)), 0.0, kMost_s);
}

HttpAnswer HttpClient::send(const HttpRequest& request) {
  const std::unique_ptr<HttpStream> stream = open(request);
  HttpAnswer answer{.status = stream->status(), .headers = stream->headers()};
  std::vector<std::byte> buffer(64 << 10);
  while (const size_t count = stream->read(buffer)) {
    if (answer.body.size() + count > kLongestBody) {
      throw Error(Code::kUnavailable, "an answer of more than " + human_bytes(kLongestBody));
    }
    answer.body += as_text(Bytes(buffer).first(count));
  }
  return answer;
}

bool travels_in_the_clear(std::string_view url) {
  const std::string lower = lower_ascii(url);
  if (lower.starts_with("https://")) return false;
  std::string_view host = std::string_view(lower).substr(
      std::min(lower.size(), lower.starts_with("http://") ? size_t{7} : size_t{0}));
  host = host.substr(0, host.find_first_of("/?#"));
  if (const size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  if (host.starts_with("[::1]")) return false;
  host = host.substr(0, host.find(':'));
  const bool is_address =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return !is_address && host != "localhost";
}

void require_private_credentials(const HttpRequest& request, const std::string& named_by) {
  const size_t host = request.url.find("://");
  const std::string_view authority =
      std::string_view(request.url).substr(host == std::string::npos ? 0 : host + 3);
  const bool names_user =
      authority.substr(0, authority.find_first_of("/?#")).find('@') != std::string_view::npos;
  if (!names_user && !request.headers.find("authorization")) return;
  if (!travels_in_the_clear(request.url)) return;
  throw Error(Code::kUsage, "a credential would be sent unencrypted", named_by,
              "give an https:// address, or take the credential away");
}

std::string percent_encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::string form_encoded(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    if (!form.empty()) form += '&';
    form += percent_encoded(name) + "=" + percent_encoded(value);
  }
  return form;
}

namespace {

constexpr const char* kLinkLocal = "a link-local address or a metadata server";
constexpr const char* kMalformed = "a malformed address";

bool is_link_local(const in_addr& address) { return ntohl(address.s_addr) >> 16 == 0xA9FE; }

bool is_link_local(const in6_addr& address) {
  constexpr const char* kMetadataServers[] = {"fd00:ec2::254", "fd20:ce::254"};
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return true;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr within;
    std::memcpy(&within, address.s6_addr + 12, sizeof within);
    return is_link_local(within);
  }
  return std::ranges::any_of(kMetadataServers, [&](const char* text) {
    in6_addr server;
    return inet_pton(AF_INET6, text, &server) == 1 && IN6_ARE_ADDR_EQUAL(&server, &address);
  });
}

// The host that an address names, in small letters. libcurl takes any number of slashes before it.
// Empty: the address is relative.
std::string named_host(std::string_view location) {
  const size_t scheme = location.find(':');
  const bool is_absolute = scheme < location.find_first_of("/?#");
  if (!is_absolute && !location.starts_with("//")) return "";
  std::string_view host = location.substr(is_absolute ? scheme + 1 : 0);
  host.remove_prefix(std::min(host.find_first_not_of('/'), host.size()));
  host = host.substr(0, host.find_first_of("/?#"));
  if (const size_t at = host.rfind('@'); at != host.npos) host.remove_prefix(at + 1);
  const size_t port = host.rfind(':'), bracket = host.rfind(']');
  if (port != host.npos && (bracket == host.npos || port > bracket)) host = host.substr(0, port);
  while (host.ends_with('.')) host.remove_suffix(1);
  return lower_ascii(host);
}

bool is_in_a_host(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view(".-_:[]").find(c) != std::string_view::npos;
}

}  // namespace

bool is_link_local(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return is_link_local(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  }
  return address.sa_family == AF_INET6 &&
         is_link_local(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::string refused_redirect(std::string_view location) {
  const std::string host = named_host(location);
  if (!std::ranges::all_of(host, is_in_a_host)) return kMalformed;
  if (host == "metadata.google.internal") return kLinkLocal;
  in_addr four;  // inet_aton() reads it in decimal, octal and hexadecimal, as libcurl does
  if (inet_aton(host.c_str(), &four) == 1) return is_link_local(four) ? kLinkLocal : "";
  if (host.find_first_of("[]:") == host.npos) return "";
  if (!host.starts_with('[') || !host.ends_with(']')) return kMalformed;
  in6_addr six;
  if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &six) != 1) return kMalformed;
  return is_link_local(six) ? kLinkLocal : "";
}

}  // namespace berth
