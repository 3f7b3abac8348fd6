#include "storage/google/authorized_user.h"

#include "storage/google/private_url.h"
#include "storage/google/token_answer.h"

namespace berth {
namespace {

class AuthorizedUser final : public TokenSource {
 public:
  AuthorizedUser(const CredentialFields& fields, const TokenContext& context)
      : context_(context),
        file_(fields.file()),
        client_id_(fields.text("client_id")),
        client_secret_(fields.text("client_secret")),
        refresh_token_(fields.text("refresh_token")),
        token_url_(fields.text("token_uri", "https://oauth2.googleapis.com/token")) {
    require_private_url(token_url_, context.metadata_host, "token_uri", file_);
  }

  AccessToken fetch() override {
    const double now_s = context_.now();
    const TokenRequest request{.url = token_url_,
                               .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                               .body = form_encoded({{"grant_type", "refresh_token"},
                                                     {"client_id", client_id_},
                                                     {"client_secret", client_secret_},
                                                     {"refresh_token", refresh_token_}}),
                               .where = file_,
                               .hint = "run: gcloud auth application-default login",
                               .secrets = {client_secret_, refresh_token_}};
    return parse_token_answer(ask_token_server(context_.http, request), now_s, request);
  }

 private:
  const TokenContext context_;
  const std::string file_, client_id_, client_secret_, refresh_token_, token_url_;
};

}  // namespace

std::unique_ptr<TokenSource> authorized_user(const CredentialFields& fields,
                                             const TokenContext& context) {
  return std::make_unique<AuthorizedUser>(fields, context);
}

}  // namespace berth
