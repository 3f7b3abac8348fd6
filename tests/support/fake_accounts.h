#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "storage/base/json.h"
#include "tests/support/http_server.h"

namespace berth {

// One server on loopback that stands for the servers which issue tokens: OAuth at /token, STS at
// /sts and for workforce users at /oauthtoken, the IAM service at /iam, the metadata server, and
// another provider's subject tokens at /subject. It checks each request and answers with a new
// token: "token-of-PATH-1", "-2", ... Thread-safe.
class FakeAccounts {
 public:
  FakeAccounts();

  std::string url(const std::string& path) const { return server_.url() + path; }
  std::string host() const { return server_.url().substr(7); }  // "127.0.0.1:PORT"

  // Credential files that refer to this server.
  Json service_account() const;
  Json authorized_user() const;
  Json workforce_user();  // with the newest refresh token: each use replaces it
  Json external_account(Json credential_source) const;
  Json impersonated_service_account(Json source) const;
  std::string impersonation_url() const { return url("/iam/robot@p:generateAccessToken"); }

  // The last request to a path (as a form or as it came), and the number of requests to it.
  std::map<std::string, std::string> last_form(const std::string& path);
  ServedRequest last(const std::string& path);
  size_t requests(const std::string& path);

  // From now on `answer` answers requests to `path`. An empty function restores the default.
  void answer(const std::string& path, std::function<ServedAnswer(const ServedRequest&)> answer);

  // Every secret that passed through the server so far: keys, tokens and assertions.
  std::vector<std::string> secrets();

  static constexpr char kRefreshToken[] = "1//0refresh-Ab3dE5gH7";
  static constexpr char kClientSecret[] = "GOCSPX-secretQ2w4E6";
  static constexpr char kSubjectToken[] = "eyJzdWJqZWN0.dG9rZW4tOTg3.c2lnbmF0dXJl";
  static constexpr char kSubjectHeader[] = "header-secret-Zx9Cv8";

  int64_t life_s = 3600;   // lifetime of new tokens
  double clock_s = 1.8e9;  // the time on the IAM server

 private:
  ServedAnswer serve(const ServedRequest& request);
  ServedAnswer oauth(const ServedRequest& request);
  ServedAnswer refresh(const ServedRequest& request);
  ServedAnswer sts(const ServedRequest& request);
  ServedAnswer iam(const ServedRequest& request);
  ServedAnswer metadata(const ServedRequest& request);
  ServedAnswer subject(const ServedRequest& request);
  std::string new_token(const std::string& path);

  std::mutex mutex_;
  std::map<std::string, std::vector<ServedRequest>> asked_;
  std::map<std::string, std::function<ServedAnswer(const ServedRequest&)>> scripted_;
  std::vector<std::string> tokens_, refresh_tokens_{kRefreshToken};
  HttpServer server_;
};

// The three parts of a JSON web token, decoded. Header and claims are JSON texts; signed_part is
// what the signature covers.
struct DecodedJwt {
  std::string header, claims, signed_part, signature;
};
DecodedJwt decode_jwt(const std::string& jwt);

}  // namespace berth
