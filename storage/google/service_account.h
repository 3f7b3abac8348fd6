#pragma once

#include <memory>
#include <string>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// Tokens of a service account, obtained with its key: a signed assertion is exchanged for a token
// (RFC 7523).
std::unique_ptr<TokenSource> service_account(const CredentialFields& fields,
                                             const TokenContext& context, const std::string& scope);

}  // namespace berth
