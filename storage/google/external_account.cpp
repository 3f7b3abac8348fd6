#include "storage/google/external_account.h"

#include <nlohmann/json.hpp>

#include "storage/base/base64.h"
#include "storage/base/json.h"
#include "storage/google/impersonation.h"
#include "storage/google/private_url.h"
#include "storage/google/subject_token.h"
#include "storage/google/token_answer.h"

namespace berth {
namespace {

class ExternalAccount final : public TokenSource {
 public:
  ExternalAccount(const CredentialFields& fields, const TokenContext& context, std::string scope)
      : context_(context),
        scope_(std::move(scope)),
        file_(fields.file()),
        audience_(fields.text("audience")),
        subject_token_type_(fields.text("subject_token_type")),
        token_url_(fields.text("token_url", "https://sts.googleapis.com/v1/token")),
        client_id_(fields.text("client_id", "")),
        client_secret_(fields.text("client_secret", "")),
        user_project_(fields.text("workforce_pool_user_project", "")),
        subject_token_(fields.object("credential_source"), context) {
    require_private_url(token_url_, context.metadata_host, "token_url", file_);
    if (!user_project_.empty() && audience_.find("/workforcePools/") == std::string::npos) {
      fields.fail("workforce_pool_user_project", "belongs to an audience of a workforce pool");
    }
  }

  AccessToken fetch() override {
    const double now_s = context_.now();
    const std::string subject_token = subject_token_.fetch();
    TokenRequest request{
        .url = token_url_,
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
        .body =
            form_encoded({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                          {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                          {"subject_token", subject_token},
                          {"subject_token_type", subject_token_type_},
                          {"audience", audience_},
                          {"scope", scope_},
                          {"options", options()}}),
        .where = file_,
        .hint = "check the audience, and that its pool's provider accepts the subject token",
        .secrets = {subject_token}};
    if (!client_id_.empty()) {
      const std::string basic = base64(client_id_ + ":" + client_secret_);
      request.headers.add("Authorization", "Basic " + basic);
      request.secrets.insert(request.secrets.end(), {basic, client_secret_});
    }
    return parse_token_answer(ask_token_server(context_.http, request), now_s, request);
  }

 private:
  // The project that is billed, unless an OAuth client determines it. The value is percent-encoded
  // twice: here, and again as a form field.
  std::string options() const {
    if (user_project_.empty() || !client_id_.empty()) return "";
    return percent_encoded(to_text(Json{{"userProject", user_project_}}));
  }

  const TokenContext context_;
  const std::string scope_, file_, audience_, subject_token_type_, token_url_;
  const std::string client_id_, client_secret_, user_project_;
  const SubjectToken subject_token_;
};

}  // namespace

std::unique_ptr<TokenSource> external_account(const CredentialFields& fields,
                                              const TokenContext& context,
                                              const std::string& scope) {
  const std::string url = fields.text("service_account_impersonation_url", "");
  if (url.empty()) return std::make_unique<ExternalAccount>(fields, context, scope);
  Impersonation impersonation{.url = url, .scope = scope, .file = fields.file()};
  if (fields.has("service_account_impersonation")) {
    const CredentialFields options = fields.object("service_account_impersonation");
    impersonation.life_s = options.integer("token_lifetime_seconds", impersonation.life_s);
    if (impersonation.life_s < 600 || impersonation.life_s > 43200) {
      options.fail("token_lifetime_seconds", "is not from 600 to 43200");
    }
  }
  return impersonated(std::make_unique<ExternalAccount>(fields, context, kCloudScope),
                      std::move(impersonation), context);
}

}  // namespace berth
