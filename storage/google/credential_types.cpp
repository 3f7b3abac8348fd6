#include "storage/google/credential_types.h"

#include "storage/base/text.h"
#include "storage/google/authorized_user.h"
#include "storage/google/external_account.h"
#include "storage/google/impersonation.h"
#include "storage/google/service_account.h"

namespace berth {
namespace {

constexpr char kImpersonated[] = "impersonated_service_account";
constexpr char kGoogleUniverse[] = "googleapis.com";

std::unique_ptr<TokenSource> impersonated_service_account(const CredentialFields& fields,
                                                          const TokenContext& context,
                                                          const std::string& scope) {
  const CredentialFields source = fields.object("source_credentials");
  if (source.text("type") == kImpersonated) {
    source.fail("type", "is another impersonated account",
                "list the accounts in between as delegates");
  }
  return impersonated(make_token_source(source, context, kCloudScope),
                      {.url = fields.text("service_account_impersonation_url"),
                       .scope = scope,
                       .file = fields.file(),
                       .delegates = fields.texts("delegates")},
                      context);
}

}  // namespace

std::unique_ptr<TokenSource> make_token_source(const CredentialFields& fields,
                                               const TokenContext& context,
                                               const std::string& scope) {
  const std::string type = fields.text("type");
  if (fields.text("universe_domain", kGoogleUniverse) != kGoogleUniverse) {
    fields.fail("universe_domain", cat("is not ", kGoogleUniverse, ", the only one supported"),
                "use credentials of Google Cloud's public universe");
  }
  if (type == "service_account") return service_account(fields, context, scope);
  if (type == "authorized_user") return authorized_user(fields, context);
  if (type == "external_account") return external_account(fields, context, scope);
  if (type == kImpersonated) return impersonated_service_account(fields, context, scope);
  fields.fail("type", cat("is ", quoted(type, 40), ", which is not supported"),
              "use service_account, authorized_user, external_account or "
              "impersonated_service_account");
}

bool holds_a_key(const CredentialFields& fields) {
  const std::string type = fields.text("type");
  return type == "service_account" || type == "authorized_user" ||
         (type == kImpersonated && holds_a_key(fields.object("source_credentials")));
}

}  // namespace berth
