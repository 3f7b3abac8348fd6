#include "storage/google/credential_types.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/secrets.h"
#include "storage/base/text.h"
#include "storage/google/jwt.h"
#include "storage/google/local_text.h"
#include "storage/google/secret_text.h"
#include "storage/google/token_request.h"

namespace berth {
namespace {

constexpr size_t kDeepest = 8;  // limits the recursion of wipe_all()

void wipe_all(Json& value) {
  if (value.is_string()) wipe(value.get_ref<std::string&>());
  if (value.is_structured()) {
    for (Json& child : value) wipe_all(child);
  }
}

bool is_one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; });
}

}  // namespace

struct CredentialFields::Tree {
  explicit Tree(Json tree_root) : root(std::move(tree_root)) {}
  ~Tree() { wipe_all(root); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Json root;
};

CredentialFields::CredentialFields(std::string_view text, std::string file)
    : file_(std::move(file)) {
  const auto bad = [&](const std::string& what) {
    return Error(Code::kUsage, what, file_, "name a credential file in JSON");
  };
  // The parser would take a zero byte for the end of the text.
  if (text.find('\0') != std::string_view::npos) throw bad("is not JSON");
  if (nesting_depth(text) > kDeepest) throw bad("is nested too deeply for a credential file");
  Json root = parse_json(text);
  if (root.is_discarded()) throw bad("is not JSON");
  tree_ = std::make_unique<Tree>(std::move(root));
  if (!tree_->root.is_object()) throw bad("is not a JSON object");
}

CredentialFields::CredentialFields(std::unique_ptr<Tree> tree, std::string file, std::string prefix)
    : tree_(std::move(tree)), file_(std::move(file)), prefix_(std::move(prefix)) {}

CredentialFields::CredentialFields(CredentialFields&&) noexcept = default;
CredentialFields::~CredentialFields() = default;

JsonObject CredentialFields::read() const {
  return JsonObject(&tree_->root, [this](const std::string& name, const std::string& problem) {
    fail(name, problem);
  });
}

bool CredentialFields::has(const std::string& name) const { return read().find(name) != nullptr; }

std::string CredentialFields::block(const std::string& name) const {
  std::optional<std::string> value = read().text(name);
  if (!value) fail(name, "is missing");
  if (value->empty()) fail(name, "is empty");
  return *std::move(value);
}

std::string CredentialFields::text(const std::string& name) const {
  std::string value = block(name);
  if (!is_one_line(value)) fail(name, "holds a control character");
  return value;
}

std::string CredentialFields::text(const std::string& name, const std::string& absent) const {
  return has(name) && *read().find(name) != "" ? text(name) : absent;
}

int64_t CredentialFields::integer(const std::string& name, int64_t absent) const {
  return read().integer(name).value_or(absent);
}

CredentialFields CredentialFields::object(const std::string& name) const {
  const Json* const value = read().object(name);
  if (value == nullptr) fail(name, "is missing");
  return {std::make_unique<Tree>(*value), file_, prefix_ + name + "."};
}

std::vector<std::string> CredentialFields::texts(const std::string& name) const {
  std::vector<std::string> found;
  const Json* const list = read().list(name);
  if (list == nullptr) return found;
  for (const Json& value : *list) {
    if (!value.is_string() || !is_one_line(value)) fail(name, "is not a list of texts");
    found.push_back(value);
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> CredentialFields::members(
    const std::string& name) const {
  std::vector<std::pair<std::string, std::string>> found;
  if (!has(name)) return found;
  const CredentialFields object = this->object(name);
  for (const auto& [key, value] : object.tree_->root.items()) {
    if (key.empty() || !is_one_line(key)) fail(name, "has a member without a proper name");
    found.emplace_back(key, object.text(key));
  }
  return found;
}

void CredentialFields::fail(const std::string& name, const std::string& problem,
                            const std::string& hint) const {
  throw Error(Code::kUsage, cat("the field ", quoted(prefix_ + name), " ", problem), file_, hint);
}

namespace {

constexpr int64_t kLife_s = 3600;  // the longest lifetime that Google allows

// Tokens of a service account, obtained with its key: a signed assertion is exchanged for a token
// (RFC 7523).
class ServiceAccount final : public TokenSource {
 public:
  ServiceAccount(const CredentialFields& fields, const TokenContext& context, std::string scope)
      : context_(context),
        scope_(std::move(scope)),
        file_(fields.file()),
        email_(fields.text("client_email")),
        key_id_(fields.text("private_key_id", "")),
        token_url_(fields.text("token_uri", "https://oauth2.googleapis.com/token")),
        key_(fields.block("private_key"), file_) {
    require_private_url(token_url_, context.metadata_host, "token_uri", file_);
  }

  AccessToken fetch() override {
    const double now_s = context_.now();
    const std::string assertion = make_assertion(now_s);
    const TokenRequest request{
        .url = token_url_,
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
        .body = form_encoded({{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                              {"assertion", assertion}}),
        .where = file_,
        .hint = cat("check that the key was not deleted, and this machine's clock, which says ",
                    iso_time(now_s)),
        .secrets = {assertion}};
    return parse_token_answer(ask_token_server(context_.http, request), now_s, request);
  }

 private:
  std::string make_assertion(double now_s) const {
    Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
    if (!key_id_.empty()) header["kid"] = key_id_;
    const auto issued_at = static_cast<int64_t>(std::floor(now_s));
    const Json claims = {{"iss", email_},
                         {"aud", token_url_},
                         {"scope", scope_},
                         {"iat", issued_at},
                         {"exp", issued_at + kLife_s}};
    try {
      return make_jwt(key_, to_text(header), to_text(claims));
    } catch (const Error& error) {
      throw error.at(file_);
    }
  }

  const TokenContext context_;
  const std::string scope_, file_, email_, key_id_, token_url_;
  const RsaKey key_;
};

// Tokens of a person, obtained with the refresh token that `gcloud auth application-default login`
// stored (RFC 6749, 6).
class AuthorizedUser final : public TokenSource {
 public:
  AuthorizedUser(const CredentialFields& fields, const TokenContext& context)
      : context_(context),
        file_(fields.file()),
        client_id_(fields.text("client_id")),
        client_secret_(fields.text("client_secret")),
        refresh_token_(fields.text("refresh_token")),
        token_url_(fields.text("token_uri", "https://oauth2.googleapis.com/token")) {
    require_private_url(token_url_, context.metadata_host, "token_uri", file_);
  }

  AccessToken fetch() override {
    const double now_s = context_.now();
    const TokenRequest request{.url = token_url_,
                               .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                               .body = form_encoded({{"grant_type", "refresh_token"},
                                                     {"client_id", client_id_},
                                                     {"client_secret", client_secret_},
                                                     {"refresh_token", refresh_token_}}),
                               .where = file_,
                               .hint = "run: gcloud auth application-default login",
                               .secrets = {client_secret_, refresh_token_}};
    return parse_token_answer(ask_token_server(context_.http, request), now_s, request);
  }

 private:
  const TokenContext context_;
  const std::string file_, client_id_, client_secret_, refresh_token_, token_url_;
};

// Names the OAuth client of a request (RFC 6749, 2.3.1).
void authenticate(TokenRequest& request, const std::string& id, const std::string& secret) {
  const std::string basic = base64(id + ":" + secret);
  request.headers.add("Authorization", "Basic " + basic);
  request.secrets.insert(request.secrets.end(), {basic, secret});
}

// Tokens of a person who signs in at another identity provider, obtained with the refresh token
// that `gcloud auth application-default login` stored. Google's security token service may replace
// the refresh token at each use.
class WorkforceUser final : public TokenSource {
 public:
  WorkforceUser(const CredentialFields& fields, const TokenContext& context)
      : context_(context),
        file_(fields.file()),
        client_id_(fields.text("client_id")),
        client_secret_(fields.text("client_secret")),
        token_url_(fields.text("token_url", "https://sts.googleapis.com/v1/oauthtoken")),
        refresh_token_(fields.text("refresh_token")) {
    require_private_url(token_url_, context.metadata_host, "token_url", file_);
  }

  AccessToken fetch() override {
    const double now_s = context_.now();
    TokenRequest request{
        .url = token_url_,
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
        .body = form_encoded({{"grant_type", "refresh_token"}, {"refresh_token", refresh_token_}}),
        .where = file_,
        .hint = "run: gcloud auth application-default login",
        .secrets = {refresh_token_}};
    authenticate(request, client_id_, client_secret_);
    const HttpAnswer answer = ask_token_server(context_.http, request);
    AccessToken token = parse_token_answer(answer, now_s, request);
    if (auto newer = new_refresh_token(answer, request)) {
      refresh_token_ = *std::move(newer);
      remember_secret(refresh_token_);
    }
    return token;
  }

 private:
  const TokenContext context_;
  const std::string file_, client_id_, client_secret_, token_url_;
  std::string refresh_token_;
};

constexpr char kHint[] = "check the identity provider that gives the subject token";

// Throws for the sources that Google's libraries support and this program does not.
void decline_others(const CredentialFields& source) {
  const auto decline = [&](const std::string& field, const std::string& kind) {
    source.fail(field, cat("asks for ", kind, " credentials, which are not supported"),
                "use a file or url source");
  };
  if (source.has("executable")) decline("executable", "executable-sourced");
  if (source.has("environment_id")) decline("environment_id", "AWS");
  if (source.has("certificate")) decline("certificate", "X.509");
  if (source.has("file") == source.has("url")) {
    source.fail("file", "or the field \"url\" must be present, but not both");
  }
}

// The token that another identity provider issued. It comes from a file or a URL, as plain text or
// as a field of JSON. It is read again each time, because Kubernetes replaces the file.
class SubjectToken {
 public:
  // `source` is the credential file's "credential_source".
  SubjectToken(const CredentialFields& source, const TokenContext& context)
      : http_(context.http),
        file_((decline_others(source), source.file())),
        path_(source.text("file", "")),
        url_(source.text("url", "")),
        headers_(source.members("headers")) {
    if (!url_.empty()) {
      require_private_url(url_, context.metadata_host, "credential_source.url", file_);
    } else if (path_.empty()) {
      source.fail("file", "is empty");
    }
    if (!source.has("format")) return;
    const CredentialFields format = source.object("format");
    const std::string type = format.text("type", "text");
    if (type == "json") {
      field_ = format.text("subject_token_field_name");
    } else if (type != "text") {
      format.fail("type", "is neither text nor json");
    }
  }

  std::string fetch() const {
    std::string token = field_in(path_.empty() ? from_url() : from_file());
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.empty()) {
      throw Error(Code::kNotPermitted,
                  cat("the subject token of ",
                      quoted(path_.empty() ? host_of_url(url_) : path_, 200), " is empty"),
                  file_, kHint);
    }
    return token;
  }

 private:
  std::string from_file() const {
    std::optional<LocalText> read = read_local_text(path_);
    if (!read) {
      throw Error(Code::kNotPermitted,
                  cat("the subject token's file ", quoted(path_, 200), " is absent"), file_,
                  "check the path, and in a container that the volume is mounted");
    }
    return std::move(read->text);
  }

  std::string from_url() const {
    TokenRequest request{.method = "GET", .url = url_, .where = file_, .hint = kHint};
    for (const auto& [name, value] : headers_) {
      request.headers.add(name, value);
      request.secrets.push_back(value);
    }
    HttpAnswer answer = exchange(http_, request);
    if (answer.status != 200) throw refusal(answer, request);
    return std::move(answer.body);
  }

  std::string field_in(const std::string& text) const {
    if (field_.empty()) return text;
    const Json object = parse_json(text);
    if (auto found = JsonObject(&object).text(field_)) return *std::move(found);
    throw Error(Code::kNotPermitted, cat("the subject token's JSON has no text ", quoted(field_)),
                file_, kHint);
  }

  HttpClient& http_;
  const std::string file_, path_, url_;  // path_ or url_ is set; file_ is the credential file
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string field_;  // name of the JSON field; empty: the whole text
};

// Workload or workforce identity federation. The token of another identity provider is exchanged at
// Google's security token service (RFC 8693).
class ExternalAccount final : public TokenSource {
 public:
  ExternalAccount(const CredentialFields& fields, const TokenContext& context, std::string scope)
      : context_(context),
        scope_(std::move(scope)),
        file_(fields.file()),
        audience_(fields.text("audience")),
        subject_token_type_(fields.text("subject_token_type")),
        token_url_(fields.text("token_url", "https://sts.googleapis.com/v1/token")),
        client_id_(fields.text("client_id", "")),
        client_secret_(fields.text("client_secret", "")),
        user_project_(fields.text("workforce_pool_user_project", "")),
        subject_token_(fields.object("credential_source"), context) {
    require_private_url(token_url_, context.metadata_host, "token_url", file_);
    if (!user_project_.empty() && audience_.find("/workforcePools/") == std::string::npos) {
      fields.fail("workforce_pool_user_project", "belongs to an audience of a workforce pool");
    }
  }

  AccessToken fetch() override {
    const double now_s = context_.now();
    const std::string subject_token = subject_token_.fetch();
    TokenRequest request{
        .url = token_url_,
        .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
        .body =
            form_encoded({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                          {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                          {"subject_token", subject_token},
                          {"subject_token_type", subject_token_type_},
                          {"audience", audience_},
                          {"scope", scope_},
                          {"options", options()}}),
        .where = file_,
        .hint = "check the audience, and that its pool's provider accepts the subject token",
        .secrets = {subject_token}};
    if (!client_id_.empty()) authenticate(request, client_id_, client_secret_);
    return parse_token_answer(ask_token_server(context_.http, request), now_s, request);
  }

 private:
  // The project that is billed, unless an OAuth client determines it. The value is percent-encoded
  // twice: here, and again as a form field.
  std::string options() const {
    if (user_project_.empty() || !client_id_.empty()) return "";
    return percent_encoded(to_text(Json{{"userProject", user_project_}}));
  }

  const TokenContext context_;
  const std::string scope_, file_, audience_, subject_token_type_, token_url_;
  const std::string client_id_, client_secret_, user_project_;
  const SubjectToken subject_token_;
};

struct Impersonation {
  std::string url;  // .../serviceAccounts/EMAIL:generateAccessToken
  std::string scope;
  std::string file;                      // for errors: the credential file
  std::vector<std::string> delegates{};  // the chain of accounts; each may impersonate the next
  int64_t life_s = 3600;
};

// Tokens of a service account. The IAM service issues them to the identity of `source`,
// which must be allowed to impersonate that account.
class Impersonated final : public TokenSource {
 public:
  Impersonated(std::unique_ptr<TokenSource> source, Impersonation impersonation,
               const TokenContext& context)
      : source_(std::move(source)), who_(std::move(impersonation)), http_(context.http) {
    require_private_url(who_.url, context.metadata_host, "service_account_impersonation_url",
                        who_.file);
  }

  AccessToken fetch() override {
    const AccessToken bearer = source_->fetch();
    Json body = {{"scope", {who_.scope}}, {"lifetime", cat(who_.life_s, "s")}};
    if (!who_.delegates.empty()) body["delegates"] = who_.delegates;
    const TokenRequest request{
        .url = who_.url,
        .headers = {{"Content-Type", "application/json"},
                    {"Authorization", "Bearer " + bearer.value}},
        .body = to_text(body),
        .where = who_.file,
        .hint = "its source needs roles/iam.serviceAccountTokenCreator on the service account",
        .secrets = {bearer.value}};
    return parse_iam_answer(ask_token_server(http_, request), request);
  }

 private:
  const std::unique_ptr<TokenSource> source_;
  const Impersonation who_;
  HttpClient& http_;
};

// If the file asks for it, the token is then exchanged for a service account's token.
std::unique_ptr<TokenSource> external_account(const CredentialFields& fields,
                                              const TokenContext& context,
                                              const std::string& scope) {
  const std::string url = fields.text("service_account_impersonation_url", "");
  if (url.empty()) return std::make_unique<ExternalAccount>(fields, context, scope);
  Impersonation impersonation{.url = url, .scope = scope, .file = fields.file()};
  if (fields.has("service_account_impersonation")) {
    const CredentialFields options = fields.object("service_account_impersonation");
    impersonation.life_s = options.integer("token_lifetime_seconds", impersonation.life_s);
    if (impersonation.life_s < 600 || impersonation.life_s > 43200) {
      options.fail("token_lifetime_seconds", "is not from 600 to 43200");
    }
  }
  return std::make_unique<Impersonated>(
      std::make_unique<ExternalAccount>(fields, context, kCloudScope), std::move(impersonation),
      context);
}

constexpr char kImpersonated[] = "impersonated_service_account";
constexpr char kWorkforceUser[] = "external_account_authorized_user";
constexpr char kGoogleUniverse[] = "googleapis.com";

std::unique_ptr<TokenSource> impersonated_service_account(const CredentialFields& fields,
                                                          const TokenContext& context,
                                                          const std::string& scope) {
  const CredentialFields source = fields.object("source_credentials");
  if (source.text("type") == kImpersonated) {
    source.fail("type", "is another impersonated account",
                "list the accounts in between as delegates");
  }
  return std::make_unique<Impersonated>(
      make_token_source(source, context, kCloudScope),
      Impersonation{.url = fields.text("service_account_impersonation_url"),
                    .scope = scope,
                    .file = fields.file(),
                    .delegates = fields.texts("delegates")},
      context);
}

}  // namespace

std::unique_ptr<TokenSource> make_token_source(const CredentialFields& fields,
                                               const TokenContext& context,
                                               const std::string& scope) {
  const std::string type = fields.text("type");
  if (fields.text("universe_domain", kGoogleUniverse) != kGoogleUniverse) {
    fields.fail("universe_domain", cat("is not ", kGoogleUniverse, ", the only one supported"),
                "use credentials of Google Cloud's public universe");
  }
  if (type == "service_account") return std::make_unique<ServiceAccount>(fields, context, scope);
  if (type == "authorized_user") return std::make_unique<AuthorizedUser>(fields, context);
  if (type == kWorkforceUser) return std::make_unique<WorkforceUser>(fields, context);
  if (type == "external_account") return external_account(fields, context, scope);
  if (type == kImpersonated) return impersonated_service_account(fields, context, scope);
  fields.fail("type", cat("is ", quoted(type, 40), ", which is not supported"),
              "use service_account, authorized_user, external_account, "
              "external_account_authorized_user or impersonated_service_account");
}

bool holds_a_key(const CredentialFields& fields) {
  const std::string type = fields.text("type");
  return type == "service_account" || type == "authorized_user" || type == kWorkforceUser ||
         (type == kImpersonated && holds_a_key(fields.object("source_credentials")));
}

}  // namespace berth
