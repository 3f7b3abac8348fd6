#pragma once

#include <memory>
#include <string>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// Creates the token source for a credential file, according to its "type". Makes no request. Throws
// kUsage, naming the file and the field, if the file is not understood.
std::unique_ptr<TokenSource> make_token_source(const CredentialFields& fields,
                                               const TokenContext& context,
                                               const std::string& scope);

// Whether the file itself grants lasting access, as a password does.
bool holds_a_key(const CredentialFields& fields);

}  // namespace berth
