#include "storage/google/token_answer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/private_url.h"
#include "storage/google/timestamp.h"

namespace berth {
namespace {

constexpr size_t kLongestToken = 64 << 10;
constexpr double kLongestLife_s = 7 * 86400;

Error not_a_token(const std::string& what, const TokenRequest& request) {
  return Error(Code::kNotPermitted, cat(host_of_url(request.url), " answered ", what),
               request.where, request.hint);
}

Json object_in(const HttpAnswer& answer, const TokenRequest& request) {
  Json object = parse_json(answer.body);
  if (!object.is_object()) throw not_a_token("with something other than a JSON object", request);
  return object;
}

// Checks the token's characters, because it becomes part of a header field.
std::string token_in(const Json& answer, const char* name, const TokenRequest& request) {
  const auto found = answer.find(name);
  if (found == answer.end() || !found->is_string()) {
    throw not_a_token(cat("without ", name), request);
  }
  const auto& token = found->get_ref<const std::string&>();
  const bool is_printable =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (token.empty() || token.size() > kLongestToken || !is_printable) {
    throw not_a_token(cat("with an invalid ", name), request);
  }
  return token;
}

// Returns the number, which may be written as a string; NaN if it is neither.
double number_in(const Json& answer, const char* name) {
  const auto found = answer.find(name);
  if (found == answer.end()) return NAN;
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return NAN;
  const auto& text = found->get_ref<const std::string&>();
  double number = NAN;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : NAN;
}

}  // namespace

AccessToken parse_token_answer(const HttpAnswer& answer, double asked_at_s,
                               const TokenRequest& request) {
  const Json object = object_in(answer, request);
  const double life_s = number_in(object, "expires_in");
  if (!(life_s >= 0 && life_s <= kLongestLife_s)) {
    throw not_a_token("without a proper expires_in", request);
  }
  return {.value = token_in(object, "access_token", request), .expires_at_s = asked_at_s + life_s};
}

AccessToken parse_iam_answer(const HttpAnswer& answer, const TokenRequest& request) {
  const Json object = object_in(answer, request);
  const auto time = object.find("expireTime");
  std::optional<double> expires_at_s;
  if (time != object.end() && time->is_string()) {
    expires_at_s = parse_timestamp(time->get_ref<const std::string&>());
  }
  if (!expires_at_s) throw not_a_token("without a proper expireTime", request);
  return {.value = token_in(object, "accessToken", request), .expires_at_s = *expires_at_s};
}

}  // namespace berth
