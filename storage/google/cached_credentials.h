#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "storage/base/error.h"
#include "storage/google/access_token.h"
#include "storage/google/credentials.h"

namespace berth {

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
