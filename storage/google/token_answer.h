#pragma once

#include <string>

#include "storage/google/access_token.h"
#include "storage/google/token_request.h"

namespace berth {

// Parses {"access_token": "...", "expires_in": 3599}. `asked_at_s` is when the request was sent.
// expires_in may be a string. Throws kNotPermitted for anything else.
AccessToken parse_token_answer(const HttpAnswer& answer, double asked_at_s,
                               const TokenRequest& request);

// Parses the IAM service's {"accessToken": "...", "expireTime": "2026-01-31T23:59:59Z"}. Throws as
// above.
AccessToken parse_iam_answer(const HttpAnswer& answer, const TokenRequest& request);

}  // namespace berth
