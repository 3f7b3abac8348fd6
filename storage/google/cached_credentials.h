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

// One source's token, kept until shortly before it expires. One thread at a time fetches; the
// others take the token that is still valid, or wait and share the outcome.
class CachedCredentials final : public Credentials {
 public:
  // `quota_project` pays for the requests; empty: the account's own.
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

  std::mutex mutex_;  // guards what follows
  std::condition_variable landed_;
  AccessToken token_;        // no value: none
  double refresh_at_s_ = 0;  // from then on a new one is asked for
  bool is_fetching_ = false;
  int fetches_ = 0;               // that ended
  std::optional<Error> failure_;  // of the last one
};

}  // namespace berth
