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

// Google's servers for tokens, in a server of their own: OAuth's at /token, STS at /sts, the IAM
// service at /iam, the metadata server, and another provider's subject tokens at /subject. They
// check what they are asked and answer with new tokens: "token-of-PATH-1", "-2", ...
class FakeAccounts {
 public:
  FakeAccounts();

  std::string url(const std::string& path) const { return server_.url() + path; }
  std::string host() const { return server_.url().substr(7); }  // "127.0.0.1:PORT"

  // Credential files that lead here.
  Json service_account() const;
  Json authorized_user() const;
  Json external_account(Json credential_source) const;
  Json impersonated_service_account(Json source) const;
  std::string impersonation_url() const { return url("/iam/robot@p:generateAccessToken"); }

  // What was asked at a path, last; and how often.
  std::map<std::string, std::string> last_form(const std::string& path);
  ServedRequest last(const std::string& path);
  size_t requests(const std::string& path);

  // From now on `path` is answered so; {} ends it.
  void answer(const std::string& path, std::function<ServedAnswer(const ServedRequest&)> answer);

  // Everything that was secret in what passed by: keys, tokens, assertions.
  std::vector<std::string> secrets();

  static constexpr char kRefreshToken[] = "1//0refresh-Ab3dE5gH7";
  static constexpr char kClientSecret[] = "GOCSPX-secretQ2w4E6";
  static constexpr char kSubjectToken[] = "eyJzdWJqZWN0.dG9rZW4tOTg3.c2lnbmF0dXJl";
  static constexpr char kSubjectHeader[] = "header-secret-Zx9Cv8";

  int64_t life_s = 3600;   // of the tokens
  double clock_s = 1.8e9;  // the IAM server's

 private:
  ServedAnswer serve(const ServedRequest& request);
  ServedAnswer oauth(const ServedRequest& request);
  ServedAnswer sts(const ServedRequest& request);
  ServedAnswer iam(const ServedRequest& request);
  ServedAnswer metadata(const ServedRequest& request);
  ServedAnswer subject(const ServedRequest& request);
  std::string new_token(const std::string& path);

  std::mutex mutex_;
  std::map<std::string, std::vector<ServedRequest>> asked_;
  std::map<std::string, std::function<ServedAnswer(const ServedRequest&)>> scripted_;
  std::vector<std::string> tokens_;
  HttpServer server_;
};

// The three parts of a JSON web token, decoded; header and claims are JSON.
struct DecodedJwt {
  std::string header, claims, signed_part, signature;
};
DecodedJwt decode_jwt(const std::string& jwt);

}  // namespace berth
