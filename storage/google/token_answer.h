#pragma once

#include <string>

#include "storage/google/access_token.h"
#include "storage/google/token_request.h"

namespace berth {

// {"access_token": "...", "expires_in": 3599}, of a request sent at `asked_at_s`; expires_in may be
// text. Throws kNotPermitted for anything else.
AccessToken parse_token_answer(const HttpAnswer& answer, double asked_at_s,
                               const TokenRequest& request);

// {"accessToken": "...", "expireTime": "2026-01-31T23:59:59Z"}, as the IAM service answers.
AccessToken parse_iam_answer(const HttpAnswer& answer, const TokenRequest& request);

}  // namespace berth
