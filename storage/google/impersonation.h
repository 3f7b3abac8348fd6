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
  std::string file;                      // of errors
  std::vector<std::string> delegates{};  // accounts in between, each granted to the next
  int64_t life_s = 3600;
};

// A service account's token, which the IAM service gives to whoever `source`'s tokens speak for.
std::unique_ptr<TokenSource> impersonated(std::unique_ptr<TokenSource> source,
                                          Impersonation impersonation, const TokenContext& context);

}  // namespace berth
