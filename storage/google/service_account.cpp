#include "storage/google/service_account.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/jwt.h"
#include "storage/google/private_url.h"
#include "storage/google/token_answer.h"

namespace berth {
namespace {

constexpr int64_t kLife_s = 3600;  // the longest lifetime that Google allows

class ServiceAccount final : public TokenSource {
 public:
  ServiceAccount(const CredentialFields& fields, const TokenContext& context, std::string scope)
      : context_(context),
        scope_(std::move(scope)),
        file_(fields.file()),
        email_(fields.text("client_email")),
        key_id_(fields.text("private_key_id", "")),
        token_url_(fields.text("token_uri", "https://oauth2.googleapis.com/token")),
        key_(fields.block("private_key"), file_) {
    require_private_url(token_url_, context.metadata_host, "token_uri", file_);
  }

  AccessToken fetch() override {
    const double now_s = context_.now();
    const std::string assertion = make_assertion(now_s);
    const TokenRequest request{
        .url = token_url_,
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
        .body = form_encoded({{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                              {"assertion", assertion}}),
        .where = file_,
        .hint = cat("check that the key was not deleted, and this machine's clock, which says ",
                    iso_time(now_s)),
        .secrets = {assertion}};
    return parse_token_answer(ask_token_server(context_.http, request), now_s, request);
  }

 private:
  std::string make_assertion(double now_s) const {
    Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
    if (!key_id_.empty()) header["kid"] = key_id_;
    const auto issued_at = static_cast<int64_t>(std::floor(now_s));
    const Json claims = {{"iss", email_},
                         {"aud", token_url_},
                         {"scope", scope_},
                         {"iat", issued_at},
                         {"exp", issued_at + kLife_s}};
    try {
      return make_jwt(key_, to_text(header), to_text(claims));
    } catch (const Error& error) {
      throw error.at(file_);
    }
  }

  const TokenContext context_;
  const std::string scope_, file_, email_, key_id_, token_url_;
  const RsaKey key_;
};

}  // namespace

std::unique_ptr<TokenSource> service_account(const CredentialFields& fields,
                                             const TokenContext& context,
                                             const std::string& scope) {
  return std::make_unique<ServiceAccount>(fields, context, scope);
}

}  // namespace berth
