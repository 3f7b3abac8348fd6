#pragma once

#include <string>

namespace berth {

// Checks that a token or key may be sent to `url`. Allowed are https, and plain http to this
// machine or to a metadata server: `metadata_host`, Google's or Azure's. Throws kUsage, located at
// `where`, for any other URL. `name` is what the message calls the URL.
void require_private_url(const std::string& url, const std::string& metadata_host,
                         const std::string& name, const std::string& where);

// Returns "oauth2.googleapis.com" for "https://oauth2.googleapis.com/token". Messages show no more
// of a URL.
std::string host_of_url(const std::string& url);

}  // namespace berth
