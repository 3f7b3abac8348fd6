#include "tests/support/fake_accounts.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "storage/base/base64.h"
#include "storage/base/clock.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "tests/support/rsa_key.h"

namespace berth {
namespace {

constexpr char kTokenPath[] = "/computeMetadata/v1/instance/service-accounts/default/token";

std::map<std::string, std::string> parse_form(std::string_view body) {
  std::map<std::string, std::string> fields;
  std::istringstream pairs{std::string(body)};
  for (std::string pair; std::getline(pairs, pair, '&');) {
    const size_t equals = pair.find('=');
    fields[percent_decoded(pair.substr(0, equals))] = percent_decoded(pair.substr(equals + 1));
  }
  return fields;
}

ServedAnswer refuse(const std::string& error, const std::string& description) {
  const Json body = {{"error", error}, {"error_description", description}};
  return {.status = 400, .body = to_text(body)};
}

std::string base64url_decoded(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  unsigned buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t digit = digits.find(c);
    if (digit == std::string::npos) throw std::runtime_error("not base64url");
    buffer = buffer << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(buffer >> bits & 0xFF);
  }
  return bytes;
}

}  // namespace

DecodedJwt decode_jwt(const std::string& jwt) {
  const size_t first = jwt.find('.'), last = jwt.rfind('.');
  return {.header = base64url_decoded(jwt.substr(0, first)),
          .claims = base64url_decoded(jwt.substr(first + 1, last - first - 1)),
          .signed_part = jwt.substr(0, last),
          .signature = base64url_decoded(jwt.substr(last + 1))};
}

FakeAccounts::FakeAccounts()
    : server_([this](const ServedRequest& request) { return serve(request); }) {}

Json FakeAccounts::service_account() const {
  return {{"type", "service_account"},          {"client_email", "robot@p.iam.gserviceaccount.com"},
          {"private_key_id", "key-id-1"},       {"private_key", test_private_key_pem()},
          {"token_uri", url("/token")},         {"project_id", "p"},
          {"universe_domain", "googleapis.com"}};
}

Json FakeAccounts::authorized_user() const {
  return {{"type", "authorized_user"},
          {"client_id", "client-1.apps.googleusercontent.com"},
          {"client_secret", kClientSecret},
          {"refresh_token", kRefreshToken},
          {"token_uri", url("/token")}};
}

Json FakeAccounts::workforce_user() {
  const std::lock_guard lock(mutex_);
  return {{"type", "external_account_authorized_user"},
          {"audience", "//iam.googleapis.com/locations/global/workforcePools/p/providers/k"},
          {"client_id", "client"},
          {"client_secret", kClientSecret},
          {"refresh_token", refresh_tokens_.back()},
          {"token_url", url("/oauthtoken")}};
}

Json FakeAccounts::external_account(Json credential_source) const {
  return {{"type", "external_account"},
          {"audience",
           "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k"},
          {"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
          {"token_url", url("/sts")},
          {"credential_source", std::move(credential_source)}};
}

Json FakeAccounts::impersonated_service_account(Json source) const {
  return {{"type", "impersonated_service_account"},
          {"service_account_impersonation_url", impersonation_url()},
          {"delegates", {"middle@p.iam.gserviceaccount.com"}},
          {"source_credentials", std::move(source)}};
}

ServedRequest FakeAccounts::last(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return asked_.at(path).back();
}

std::map<std::string, std::string> FakeAccounts::last_form(const std::string& path) {
  return parse_form(last(path).body.view());
}

size_t FakeAccounts::requests(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return asked_[path].size();
}

void FakeAccounts::answer(const std::string& path,
                          std::function<ServedAnswer(const ServedRequest&)> answer) {
  const std::lock_guard lock(mutex_);
  scripted_[path] = std::move(answer);
}

std::vector<std::string> FakeAccounts::secrets() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all = tokens_;
  all.insert(all.end(), refresh_tokens_.begin(), refresh_tokens_.end());
  all.insert(all.end(), {kClientSecret, kSubjectToken, kSubjectHeader});
  std::istringstream key(test_private_key_pem());
  for (std::string line; std::getline(key, line);) {
    if (!line.starts_with("-----")) all.push_back(line);
  }
  for (const ServedRequest& request : asked_["/token"]) {
    const auto form = parse_form(request.body.view());
    if (form.contains("assertion")) all.push_back(form.at("assertion"));
  }
  return all;
}

ServedAnswer FakeAccounts::serve(const ServedRequest& request) {
  std::function<ServedAnswer(const ServedRequest&)> scripted;
  {
    const std::lock_guard lock(mutex_);
    asked_[request.path].push_back(request);
    if (const auto found = scripted_.find(request.path); found != scripted_.end()) {
      scripted = found->second;
    }
  }
  if (scripted) return scripted(request);
  if (request.path == "/token") return oauth(request);
  if (request.path == "/oauthtoken") return refresh(request);
  if (request.path == "/sts") return sts(request);
  if (request.path.starts_with("/iam/")) return iam(request);
  if (request.path == kTokenPath) return metadata(request);
  if (request.path == "/subject") return subject(request);
  return {.status = 404, .body = "nothing here"};
}

std::string FakeAccounts::new_token(const std::string& name) {
  const std::lock_guard lock(mutex_);
  tokens_.push_back("token-of-" + name + "-" + std::to_string(tokens_.size() + 1));
  return tokens_.back();
}

ServedAnswer FakeAccounts::oauth(const ServedRequest& request) {
  const auto form = parse_form(request.body.view());
  const std::string grant = form.contains("grant_type") ? form.at("grant_type") : "";
  if (request.method != "POST" ||
      request.header("Content-Type") != "application/x-www-form-urlencoded") {
    return refuse("invalid_request", "not a form");
  }
  if (grant == "refresh_token") {
    if (form.at("refresh_token") != kRefreshToken || form.at("client_secret") != kClientSecret) {
      return refuse("invalid_grant", "Bad Request");
    }
  } else {
    const DecodedJwt jwt = decode_jwt(form.at("assertion"));
    if (grant != "urn:ietf:params:oauth:grant-type:jwt-bearer" ||
        !test_key_signed(jwt.signed_part, jwt.signature)) {
      return refuse("invalid_grant", "Invalid JWT Signature.");
    }
  }
  const Json body = {
      {"access_token", new_token("oauth")}, {"expires_in", life_s}, {"token_type", "Bearer"}};
  return {.body = to_text(body)};
}

ServedAnswer FakeAccounts::refresh(const ServedRequest& request) {
  const auto form = parse_form(request.body.view());
  const std::string client = "Basic " + base64(cat("client:", kClientSecret));
  {
    const std::lock_guard lock(mutex_);
    if (form.at("grant_type") != "refresh_token" || request.header("Authorization") != client ||
        form.at("refresh_token") != refresh_tokens_.back()) {
      return refuse("invalid_grant", "Bad Request");
    }
    refresh_tokens_.push_back(cat("refresh-token-q7Wz", refresh_tokens_.size()));
  }
  const Json body = {{"access_token", new_token("sts")},
                     {"expires_in", life_s},
                     {"refresh_token", refresh_tokens_.back()}};
  return {.body = to_text(body)};
}

ServedAnswer FakeAccounts::sts(const ServedRequest& request) {
  const auto form = parse_form(request.body.view());
  if (form.at("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" ||
      form.at("subject_token") != kSubjectToken) {
    return refuse("invalid_grant", "The subject token is not accepted");
  }
  const Json body = {{"access_token", new_token("sts")}, {"expires_in", std::to_string(life_s)}};
  return {.body = to_text(body)};
}

ServedAnswer FakeAccounts::iam(const ServedRequest& request) {
  const std::string bearer = request.header("Authorization").value_or("");
  {
    const std::lock_guard lock(mutex_);
    if (tokens_.empty() || bearer != "Bearer " + tokens_.back()) {
      const Json body = {
          {"error", {{"code", 403}, {"status", "PERMISSION_DENIED"}, {"message", "denied"}}}};
      return {.status = 403, .body = to_text(body)};
    }
  }
  const std::string life = parse_json(request.body.view()).at("lifetime");
  const Json body = {{"accessToken", new_token("iam")},
                     {"expireTime", iso_time(clock_s + std::stod(life))}};
  return {.body = to_text(body)};
}

ServedAnswer FakeAccounts::metadata(const ServedRequest& request) {
  if (request.header("Metadata-Flavor") != "Google") return {.status = 403};
  const Json body = {{"access_token", new_token("metadata")}, {"expires_in", life_s}};
  return {.headers = {{"Metadata-Flavor", "Google"}}, .body = to_text(body)};
}

ServedAnswer FakeAccounts::subject(const ServedRequest& request) {
  if (request.header("X-Subject-Key") != kSubjectHeader) return {.status = 401};
  return {.body = to_text(Json{{"id_token", kSubjectToken}})};
}

}  // namespace berth
