#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/base/error.h"
#include "storage/google/credentials.h"
#include "storage/google/token_request.h"

namespace berth {

struct MetadataServerOptions {
  std::string host = "metadata.google.internal";  // host[:port]
  std::string machine_product_file{};  // its text begins with "Google" on Google's machines
  std::string tried_before{};          // for the error: "A is not set, B is absent"

  // Whether a name (host[:port]) has an address, or may have one: the name server may not answer
  // yet. Tests pass a function of their own.
  std::function<bool(const std::string& host)> resolves = has_address;

  static bool has_address(const std::string& host);
};

// Tokens of the service account that is attached to this machine, pod or container. The metadata
// server may be unreachable for some time after a pod starts. On Google's machines, and once a
// server has accepted a connection, a failure that may pass is kUnavailable. Elsewhere it is
// kUnavailable for 60 s after the first one, and then kNotPermitted. If the name has no address
// there, fetch() throws kNotPermitted at once.
std::unique_ptr<TokenSource> metadata_server(const MetadataServerOptions& options,
                                             const TokenContext& context);

// Keeps the token of one source until shortly before it expires. Only one thread at a time fetches
// a new token. Meanwhile the others use the token that is still valid, or wait for the result.
// Thread-safe.
class CachedCredentials final : public Credentials {
 public:
  // `quota_project` is billed for the requests; if it is empty, the account's own project is.
  CachedCredentials(std::unique_ptr<TokenSource> source, std::string quota_project, Clock now);

  HttpHeaders headers() override;
  bool drop(const HttpHeaders& refused) override;

 private:
  HttpHeaders fields() const;
  void keep(AccessToken token, double asked_at_s);
  void postpone(const Error& failure);

  const std::unique_ptr<TokenSource> source_;
  const std::string quota_project_;
  const Clock now_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable landed_;
  AccessToken token_;        // an empty value means that there is no token
  double refresh_at_s_ = 0;  // a new token is requested from then on
  bool is_fetching_ = false;
  int fetches_ = 0;               // number of fetches that have ended
  std::optional<Error> failure_;  // of the last fetch
};

}  // namespace berth
