#pragma once

#include <memory>
#include <string>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// What a credential file speaks of, by its "type". Throws kUsage, naming file and field, where it
// is not understood; asks nobody.
std::unique_ptr<TokenSource> make_token_source(const CredentialFields& fields,
                                               const TokenContext& context,
                                               const std::string& scope);

// Whether the file itself is as good as a password, and for long.
bool holds_a_key(const CredentialFields& fields);

}  // namespace berth
