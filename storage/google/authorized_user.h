#pragma once

#include <memory>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// Tokens of a person, obtained with the refresh token that `gcloud auth application-default login`
// stored (RFC 6749, 6).
std::unique_ptr<TokenSource> authorized_user(const CredentialFields& fields,
                                             const TokenContext& context);

}  // namespace berth
