#include "storage/http/redirects.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "storage/base/text.h"

namespace berth {
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
