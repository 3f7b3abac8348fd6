#include "storage/google/default_credentials.h"

#include <netdb.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/google/credential_types.h"
#include "storage/google/credentials.h"
#include "storage/google/local_text.h"
#include "storage/google/secret_text.h"
#include "storage/google/token_request.h"

namespace berth {
namespace {

// Returns the error for the case that no credentials were found. `tried` lists the places that were
// searched.
inline Error no_credentials(const std::string& tried) {
  return Error(Code::kNotPermitted, "no credentials for Google Cloud: " + tried, "",
               "set GOOGLE_APPLICATION_CREDENTIALS to a credential file, run on Google Cloud, or "
               "pass --anonymous for public data");
}

constexpr double kPatience_s = 60;
constexpr double kConnectTimeout_s = 3;

bool is_googles_machine(const std::string& product_file) {
  std::string product;
  std::getline(std::ifstream(product_file), product);
  return product.starts_with("Google");
}

class MetadataServer final : public TokenSource {
 public:
  MetadataServer(const MetadataServerOptions& options, const TokenContext& context)
      : options_(options), context_(context) {}

  AccessToken fetch() override {
    const double now_s = context_.now();
    try {
      AccessToken token = ask(now_s);
      is_there_ = true;
      return token;
    } catch (const Error& error) {
      is_there_ = is_there_ || accepted(error) || is_googles_machine(options_.machine_product_file);
      if (error.code() != Code::kUnavailable || is_there_) throw;
      if (!first_failure_s_) {
        first_failure_s_ = now_s;
        if (!options_.resolves(options_.host)) throw nobody("has no address");
      }
      if (now_s - *first_failure_s_ >= kPatience_s) {
        throw nobody(cat("gave no token in ", kPatience_s, " s (", error.what(), ")"));
      }
      throw;
    }
  }

 private:
  // Whether a server accepted the connection of the request that failed so.
  static bool accepted(const Error& failure) {
    return failure.problem().find(kUnknownHost) == std::string::npos &&
           failure.problem().find(kNoConnection) == std::string::npos;
  }

  AccessToken ask(double now_s) const {
    const TokenRequest request{
        .method = "GET",
        .url = cat("http://", options_.host,
                   "/computeMetadata/v1/instance/service-accounts/default/token"),
        .headers = {{"Metadata-Flavor", "Google"}},
        .connect_timeout_s = kConnectTimeout_s,
        .where = "metadata server",
        .hint = "check that a service account is attached to the machine or pod"};
    const HttpAnswer answer = exchange(context_.http, request);
    const bool is_google =
        lower_ascii(answer.headers.find("Metadata-Flavor").value_or("")) == "google";
    if (answer.status != 200) {
      const Error refused = refusal(answer, request);
      if (is_google || refused.code() == Code::kUnavailable) throw refused;
    }
    if (!is_google) throw nobody("answers, but is not Google's");
    return parse_token_answer(answer, now_s, request);
  }

  Error nobody(const std::string& why) const {
    return no_credentials(
        cat(options_.tried_before, ", and the metadata server ", options_.host, " ", why));
  }

  const MetadataServerOptions options_;
  const TokenContext context_;
  std::optional<double> first_failure_s_;
  bool is_there_ = false;  // so a failure may pass
};

}  // namespace

bool MetadataServerOptions::has_address(const std::string& host) {
  addrinfo* found = nullptr;
  const std::string name = host.substr(0, host.find(':'));
  const int failed = getaddrinfo(name.c_str(), nullptr, nullptr, &found);
  if (failed == 0) freeaddrinfo(found);
  return failed != EAI_NONAME && failed != EAI_NODATA;
}

std::unique_ptr<TokenSource> metadata_server(const MetadataServerOptions& options,
                                             const TokenContext& context) {
  return std::make_unique<MetadataServer>(options, context);
}

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

namespace {

class AnonymousCredentials final : public Credentials {
 public:
  HttpHeaders headers() override { return {}; }
  bool drop(const HttpHeaders&) override { return false; }
};

}  // namespace

std::unique_ptr<Credentials> anonymous_credentials() {
  return std::make_unique<AnonymousCredentials>();
}

namespace {

constexpr char kVariable[] = "GOOGLE_APPLICATION_CREDENTIALS";

std::unique_ptr<Credentials> from_text(LocalText file, const std::string& path,
                                       const TokenContext& context) {
  const CredentialFields fields(file.text, path);
  wipe(file.text);
  auto source = make_token_source(fields, context, kStorageScope);
  if (file.is_shared && holds_a_key(fields)) {
    log_warning(cat(path, ": others may read these credentials; run: chmod 600 ", path));
  }
  log_info(cat("credentials: ", fields.text("type"), " of ", path));
  return std::make_unique<CachedCredentials>(std::move(source), fields.text("quota_project_id", ""),
                                             context.now);
}

}  // namespace

std::unique_ptr<Credentials> default_credentials(const CredentialOptions& options, HttpClient& http,
                                                 Clock now) {
  const TokenContext context{http, std::move(now), options.metadata_host};

  if (const std::string& path = options.application_credentials; !path.empty()) {
    std::optional<LocalText> file = read_local_text(path);
    if (!file) {
      throw Error(Code::kUsage, cat("the file that ", kVariable, " names is absent"), path,
                  "correct the path, and in a container check that the volume is mounted");
    }
    return from_text(std::move(*file), path, context);
  }
  std::string tried = cat(kVariable, " is not set");

  if (!options.gcloud_directory.empty()) {
    const std::string path = options.gcloud_directory + "/application_default_credentials.json";
    if (std::optional<LocalText> file = read_local_text(path)) {
      return from_text(std::move(*file), path, context);
    }
    tried += cat(", ", path, " is absent");
  }

  if (!options.metadata_server) {
    throw no_credentials(tried + ", and NO_GCE_CHECK forbids the metadata server");
  }
  log_info(cat("credentials: the metadata server ", options.metadata_host));
  return std::make_unique<CachedCredentials>(
      metadata_server({.host = options.metadata_host,
                       .machine_product_file = options.machine_product_file,
                       .tried_before = tried},
                      context),
      "", context.now);
}

}  // namespace berth
