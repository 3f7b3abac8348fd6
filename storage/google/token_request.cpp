#include "storage/google/token_request.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/google/private_url.h"
#include "storage/google/secret_text.h"

namespace berth {
namespace {

constexpr size_t kLongestAnswer = 1 << 20;
constexpr size_t kLongestReason = 60, kLongestDescription = 200;

struct Reason {
  std::string name, description;
};

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Reason reason_in(const std::string& body) {
  const Json answer = parse_json(body);
  if (!answer.is_object()) return {};
  const auto error = answer.find("error");
  if (error != answer.end() && error->is_object()) {
    return {text_of(*error, "status"), text_of(*error, "message")};
  }
  return {text_of(answer, "error"), text_of(answer, "error_description")};
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
    const std::unique_ptr<HttpStream> stream = http.open({.method = request.method,
                                                          .url = request.url,
                                                          .headers = request.headers,
                                                          .body = {as_bytes(request.body)},
                                                          .timeout_s = request.timeout_s,
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

}  // namespace berth
