#pragma once

#include <memory>
#include <string>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// Workload or workforce identity federation. The token of another identity provider is exchanged at
// Google's security token service (RFC 8693). If the file asks for it, the result is then exchanged
// for a service account's token.
std::unique_ptr<TokenSource> external_account(const CredentialFields& fields,
                                              const TokenContext& context,
                                              const std::string& scope);

}  // namespace berth
