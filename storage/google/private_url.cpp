#include "storage/google/private_url.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Returns "host", "host:port", "[address]" or "[address]:port".
std::string authority_of(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return "";
  return url.substr(begin + 3, url.find_first_of("/?#", begin + 3) - begin - 3);
}

std::string without_port(const std::string& authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
          host.find_first_not_of("0123456789.") == std::string::npos);
}

bool is_metadata_server(const std::string& host, const std::string& metadata_host) {
  return host == "metadata.google.internal" || host == "169.254.169.254" ||
         host == without_port(lower_ascii(metadata_host));
}

// Whether the URL has only characters that every URL parser interprets alike.
bool is_plain(const std::string& url, const std::string& authority) {
  const bool is_printable =
      std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c <= '~' && c != '\\'; });
  return is_printable && !without_port(authority).empty() &&
         lower_ascii(authority).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") ==
             std::string::npos;
}

}  // namespace

void require_private_url(const std::string& url, const std::string& metadata_host,
                         const std::string& name, const std::string& where) {
  const std::string scheme = lower_ascii(url.substr(0, url.find(':')));
  const std::string authority = authority_of(url);
  if ((scheme != "https" && scheme != "http") || !is_plain(url, authority)) {
    throw Error(Code::kUsage, name + " is not an http(s) URL", where, "correct the file");
  }
  const std::string host = lower_ascii(without_port(authority));
  if (scheme == "https" || is_loopback(host) || is_metadata_server(host, metadata_host)) return;
  throw Error(Code::kUsage, cat(name, " would send secrets to ", host, " over plain http"), where,
              "use https");
}

std::string host_of_url(const std::string& url) { return without_port(authority_of(url)); }

}  // namespace berth
