#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/google/access_token.h"

namespace berth {

struct MetadataServerOptions {
  std::string host = "metadata.google.internal";  // host[:port]
  std::string machine_product_file{};             // begins with "Google" on Google's machines
  std::string tried_before{};  // "A is not set, B is absent": for the error that nothing is there

  // Whether a name (host[:port]) has an address. Tests pass their own.
  std::function<bool(const std::string& host)> resolves = has_address;

  static bool has_address(const std::string& host);
};

// The service account of the machine, pod or container this runs on. The server may be down for
// some time after a pod's start: until it has answered once, failures are kUnavailable for 60 s
// from the first one, then kNotPermitted. Where this is not Google's machine and the name has no
// address, it is kNotPermitted at once.
std::unique_ptr<TokenSource> metadata_server(const MetadataServerOptions& options,
                                             const TokenContext& context);

}  // namespace berth
