#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

namespace berth {

// A server that names the next address must not choose an address that only this machine can reach:
// the metadata servers of clouds give credentials to whoever asks.

// Whether the address is link-local (169.254.0.0/16, fe80::/10), also as an IPv4 address in IPv6,
// or is the one of a metadata server in IPv6.
bool is_link_local(const sockaddr& address);

// Why a redirect to this value of a Location field is not followed; empty: it may be. A redirect is
// refused if it is malformed, or if its host is a link-local address or Google's metadata server.
// Other names may lead there, too, so the code that connects calls is_link_local() again.
std::string refused_redirect(std::string_view location);

}  // namespace berth
