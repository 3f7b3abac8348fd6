#pragma once

#include <string>

namespace berth {

// What a token or a key may be sent to: https, or plain http to this very machine or to a metadata
// server: `metadata_host`, or Google's and Azure's own. Throws kUsage, located at `where`, for any
// other; `name` is what the URL is called in the message.
void require_private_url(const std::string& url, const std::string& metadata_host,
                         const std::string& name, const std::string& where);

// "oauth2.googleapis.com" of "https://oauth2.googleapis.com/token": all that a message may show.
std::string host_of_url(const std::string& url);

}  // namespace berth
