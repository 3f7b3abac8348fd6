#include "storage/google/impersonation.h"

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/private_url.h"
#include "storage/google/token_answer.h"

namespace berth {
namespace {

class Impersonated final : public TokenSource {
 public:
  Impersonated(std::unique_ptr<TokenSource> source, Impersonation impersonation,
               const TokenContext& context)
      : source_(std::move(source)), who_(std::move(impersonation)), http_(context.http) {
    require_private_url(who_.url, context.metadata_host, "service_account_impersonation_url",
                        who_.file);
  }

  AccessToken fetch() override {
    const AccessToken bearer = source_->fetch();
    Json body = {{"scope", {who_.scope}}, {"lifetime", cat(who_.life_s, "s")}};
    if (!who_.delegates.empty()) body["delegates"] = who_.delegates;
    const TokenRequest request{
        .url = who_.url,
        .headers = {{"Content-Type", "application/json"},
                    {"Authorization", "Bearer " + bearer.value}},
        .body = to_text(body),
        .where = who_.file,
        .hint = "its source needs roles/iam.serviceAccountTokenCreator on the service account",
        .secrets = {bearer.value}};
    return parse_iam_answer(ask_token_server(http_, request), request);
  }

 private:
  const std::unique_ptr<TokenSource> source_;
  const Impersonation who_;
  HttpClient& http_;
};

}  // namespace

std::unique_ptr<TokenSource> impersonated(std::unique_ptr<TokenSource> source,
                                          Impersonation impersonation,
                                          const TokenContext& context) {
  return std::make_unique<Impersonated>(std::move(source), std::move(impersonation), context);
}

}  // namespace berth
