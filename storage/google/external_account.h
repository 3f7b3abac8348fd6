#pragma once

#include <memory>
#include <string>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// Workload or workforce identity federation: another provider's token is exchanged at Google's
// security token service (RFC 8693), and that for a service account's where the file asks for it.
std::unique_ptr<TokenSource> external_account(const CredentialFields& fields,
                                              const TokenContext& context,
                                              const std::string& scope);

}  // namespace berth
