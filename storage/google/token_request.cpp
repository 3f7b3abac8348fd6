#include "storage/google/token_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/google/secret_text.h"
#include "storage/google/timestamp.h"

namespace berth {
namespace {

// Returns "host", "host:port", "[address]" or "[address]:port".
std::string authority_of(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == std::string::npos) return "";
  return url.substr(begin + 3, url.find_first_of("/?#", begin + 3) - begin - 3);
}

std::string without_port(const std::string& authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
          host.find_first_not_of("0123456789.") == std::string::npos);
}

bool is_metadata_server(const std::string& host, const std::string& metadata_host) {
  return host == "metadata.google.internal" || host == "169.254.169.254" ||
         host == without_port(lower_ascii(metadata_host));
}

// Whether the URL has only characters that every URL parser interprets alike.
bool is_plain(const std::string& url, const std::string& authority) {
  const bool is_printable =
      std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c <= '~' && c != '\\'; });
  return is_printable && !without_port(authority).empty() &&
         lower_ascii(authority).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") ==
             std::string::npos;
}

}  // namespace

void require_private_url(const std::string& url, const std::string& metadata_host,
                         const std::string& name, const std::string& where) {
  const std::string scheme = lower_ascii(url.substr(0, url.find(':')));
  const std::string authority = authority_of(url);
  if ((scheme != "https" && scheme != "http") || !is_plain(url, authority)) {
    throw Error(Code::kUsage, name + " is not an http(s) URL", where, "correct the file");
  }
  const std::string host = lower_ascii(without_port(authority));
  if (scheme == "https" || is_loopback(host) || is_metadata_server(host, metadata_host)) return;
  throw Error(Code::kUsage, cat(name, " would send secrets to ", host, " over plain http"), where,
              "use https");
}

std::string host_of_url(const std::string& url) { return without_port(authority_of(url)); }

namespace {

constexpr size_t kLongestAnswer = 1 << 20;
constexpr size_t kLongestReason = 60, kLongestDescription = 200;

struct Reason {
  std::string name, description;
};

Reason reason_in(const std::string& body) {
  const Json answer = parse_json(body);
  const JsonObject members(&answer);
  if (const Json* object = members.object("error")) {
    const JsonObject error(object);
    return {error.text("status").value_or(""), error.text("message").value_or("")};
  }
  return {members.text("error").value_or(""), members.text("error_description").value_or("")};
}

bool may_pass(int status, const std::string& name) {
  constexpr std::array kStatuses = {408, 429, 500, 502, 503, 504};
  constexpr std::array kNames = {"internal_failure", "server_error", "temporarily_unavailable"};
  return std::count(kStatuses.begin(), kStatuses.end(), status) > 0 ||
         std::count(kNames.begin(), kNames.end(), name) > 0;
}

}  // namespace

HttpAnswer exchange(HttpClient& http, const TokenRequest& request) {
  for (const std::string& secret : request.secrets) remember_secret(secret);
  const bool is_plain = lower_ascii(request.url).starts_with("http:");
  try {
    const std::unique_ptr<HttpStream> stream =
        http.open({.method = request.method,
                   .url = request.url,
                   .headers = request.headers,
                   .body = {as_bytes(request.body)},
                   .timeout_s = request.timeout_s,
                   .connect_timeout_s = request.connect_timeout_s,
                   .bypass_proxy = is_plain});
    HttpAnswer answer{.status = stream->status(), .headers = stream->headers()};
    std::vector<std::byte> buffer(16 << 10);
    while (const size_t count = stream->read(buffer)) {
      if (answer.body.size() + count > kLongestAnswer) {
        throw Error(Code::kNotPermitted,
                    cat("an answer of more than ", human_bytes(kLongestAnswer), " for a token"),
                    host_of_url(request.url), request.hint);
      }
      answer.body += as_text(Bytes(buffer).first(count));
    }
    return answer;
  } catch (const Error& error) {
    throw error.at(request.where);
  }
}

HttpAnswer ask_token_server(HttpClient& http, const TokenRequest& request) {
  HttpAnswer answer = exchange(http, request);
  if (!answer.ok()) throw refusal(answer, request);
  return answer;
}

Error refusal(const HttpAnswer& answer, const TokenRequest& request) {
  const Reason reason = reason_in(answer.body);
  std::string problem = cat(host_of_url(request.url), " answered ", answer.status);
  if (!reason.name.empty()) {
    problem += " " + without_secrets(reason.name, request.secrets, kLongestReason);
  }
  if (!reason.description.empty()) {
    problem +=
        " (" + without_secrets(reason.description, request.secrets, kLongestDescription) + ")";
  }
  if (may_pass(answer.status, reason.name)) {
    return Error(Code::kUnavailable, problem, request.where).after(answer.headers.retry_after_s());
  }
  return Error(Code::kNotPermitted, problem, request.where, request.hint);
}

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
std::string token_in(const JsonObject& answer, const char* name, const TokenRequest& request) {
  std::optional<std::string> token = answer.text(name);
  if (!token) throw not_a_token(cat("without ", name), request);
  const bool is_printable =
      std::all_of(token->begin(), token->end(), [](char c) { return c > ' ' && c <= '~'; });
  if (token->empty() || token->size() > kLongestToken || !is_printable) {
    throw not_a_token(cat("with an invalid ", name), request);
  }
  return *std::move(token);
}

// Returns the number, which may be written as a string; NaN if it is neither.
double number_in(const JsonObject& answer, const char* name) {
  if (const std::optional<double> value = answer.number(name)) return *value;
  const std::string text = answer.text(name).value_or("");
  double number = NAN;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : NAN;
}

}  // namespace

AccessToken parse_token_answer(const HttpAnswer& answer, double asked_at_s,
                               const TokenRequest& request) {
  const Json parsed = object_in(answer, request);
  const JsonObject object(&parsed);
  const double life_s = number_in(object, "expires_in");
  if (!(life_s >= 0 && life_s <= kLongestLife_s)) {
    throw not_a_token("without a proper expires_in", request);
  }
  return {.value = token_in(object, "access_token", request), .expires_at_s = asked_at_s + life_s};
}

std::optional<std::string> new_refresh_token(const HttpAnswer& answer,
                                             const TokenRequest& request) {
  constexpr char kName[] = "refresh_token";
  const Json parsed = object_in(answer, request);
  const JsonObject object(&parsed);
  if (!object.text(kName)) return std::nullopt;
  return token_in(object, kName, request);
}

AccessToken parse_iam_answer(const HttpAnswer& answer, const TokenRequest& request) {
  const Json parsed = object_in(answer, request);
  const JsonObject object(&parsed);
  const std::optional<double> expires_at_s =
      parse_timestamp(object.text("expireTime").value_or(""));
  if (!expires_at_s) throw not_a_token("without a proper expireTime", request);
  return {.value = token_in(object, "accessToken", request), .expires_at_s = *expires_at_s};
}

}  // namespace berth
