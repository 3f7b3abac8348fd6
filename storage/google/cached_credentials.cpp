#include "storage/google/cached_credentials.h"

#include <algorithm>

#include "storage/base/log.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// The metadata server returns the same token until 4 minutes before it expires.
constexpr double kRefreshMargin_s = 225;
constexpr double kLeastRefreshPause_s = 10;
constexpr double kPauseAfterFailure_s = 30;

}  // namespace

CachedCredentials::CachedCredentials(std::unique_ptr<TokenSource> source, std::string quota_project,
                                     Clock now)
    : source_(std::move(source)), quota_project_(std::move(quota_project)), now_(std::move(now)) {}

HttpHeaders CachedCredentials::headers() {
  std::unique_lock lock(mutex_);
  const double now_s = now_();
  const bool is_valid = !token_.value.empty() && now_s < token_.expires_at_s;
  if (is_valid && (is_fetching_ || now_s < refresh_at_s_)) return fields();
  while (is_fetching_) {
    landed_.wait(lock, [&, before = fetches_] { return fetches_ != before; });
    if (failure_) throw Error(*failure_);
    if (!token_.value.empty()) return fields();  // otherwise another thread has dropped it already
  }

  is_fetching_ = true;
  lock.unlock();
  std::optional<AccessToken> token;
  std::optional<Error> failure;
  try {
    token = source_->fetch();
  } catch (const Error& error) {
    failure = error;
  } catch (...) {  // the text of an unknown exception may contain a secret
    failure = Error(Code::kInternal, "asking for an access token failed");
  }
  lock.lock();
  if (token) {
    keep(std::move(*token), now_s);
  } else if (!token_.value.empty() && now_() < token_.expires_at_s) {
    postpone(*failure);
    failure.reset();
  }
  failure_ = failure;
  is_fetching_ = false;
  ++fetches_;
  landed_.notify_all();
  if (failure) throw Error(*failure);
  return fields();
}

bool CachedCredentials::drop(const HttpHeaders& refused) {
  const std::lock_guard lock(mutex_);
  // Another thread may have replaced the refused token already.
  if (refused.find("Authorization") == fields().find("Authorization")) token_ = {};
  return true;
}

HttpHeaders CachedCredentials::fields() const {
  HttpHeaders headers{{"Authorization", "Bearer " + token_.value}};
  if (!quota_project_.empty()) headers.add("x-goog-user-project", quota_project_);
  return headers;
}

void CachedCredentials::keep(AccessToken token, double asked_at_s) {
  token_ = std::move(token);
  remember_secret(token_.value);
  // If the token is about to expire, waits half of the remaining time: asking at once would return
  // the same token.
  const double left_s = token_.expires_at_s - asked_at_s;
  refresh_at_s_ =
      asked_at_s + std::max({left_s - kRefreshMargin_s, left_s / 2, kLeastRefreshPause_s});
  log_debug(cat("got an access token that is valid until ", iso_time(token_.expires_at_s)));
}

void CachedCredentials::postpone(const Error& failure) {
  refresh_at_s_ = now_() + std::max(kPauseAfterFailure_s, failure.pause_s());
  log_warning(cat("could not get a new access token; the current one is valid until ",
                  iso_time(token_.expires_at_s), ": ", failure.what()));
}

}  // namespace berth
