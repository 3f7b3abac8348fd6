#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/google/access_token.h"

namespace berth {

struct Impersonation {
  std::string url;  // .../serviceAccounts/EMAIL:generateAccessToken
  std::string scope;
  std::string file;                      // for errors: the credential file
  std::vector<std::string> delegates{};  // the chain of accounts; each may impersonate the next
  int64_t life_s = 3600;
};

// Returns tokens of a service account. The IAM service issues them to the identity of `source`,
// which must be allowed to impersonate that account.
std::unique_ptr<TokenSource> impersonated(std::unique_ptr<TokenSource> source,
                                          Impersonation impersonation, const TokenContext& context);

}  // namespace berth
