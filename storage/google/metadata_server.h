#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/google/access_token.h"

namespace berth {

struct MetadataServerOptions {
  std::string host = "metadata.google.internal";  // host[:port]
  std::string machine_product_file{};  // its text begins with "Google" on Google's machines
  std::string tried_before{};          // for the error: "A is not set, B is absent"

  // Whether a name (host[:port]) resolves to an address. Tests pass a function of their own.
  std::function<bool(const std::string& host)> resolves = has_address;

  static bool has_address(const std::string& host);
};

// Tokens of the service account that is attached to this machine, pod or container. The metadata
// server may be unreachable for some time after a pod starts. Until it has answered once, failures
// are kUnavailable for 60 s after the first one, and then kNotPermitted. If this is not Google's
// machine and the name has no address, fetch() throws kNotPermitted at once.
std::unique_ptr<TokenSource> metadata_server(const MetadataServerOptions& options,
                                             const TokenContext& context);

}  // namespace berth
