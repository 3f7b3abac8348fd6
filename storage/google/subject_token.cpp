#include "storage/google/subject_token.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/local_text.h"
#include "storage/google/private_url.h"
#include "storage/google/token_request.h"

namespace berth {
namespace {

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

}  // namespace

SubjectToken::SubjectToken(const CredentialFields& source, const TokenContext& context)
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

std::string SubjectToken::fetch() const {
  std::string token = field_in(path_.empty() ? from_url() : from_file());
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  if (token.empty()) {
    throw Error(Code::kNotPermitted,
                cat("the subject token of ", quoted(path_.empty() ? host_of_url(url_) : path_, 200),
                    " is empty"),
                file_, kHint);
  }
  return token;
}

std::string SubjectToken::from_file() const {
  std::optional<LocalText> read = read_local_text(path_);
  if (!read) {
    throw Error(Code::kNotPermitted,
                cat("the subject token's file ", quoted(path_, 200), " is absent"), file_,
                "check the path, and in a container that the volume is mounted");
  }
  return std::move(read->text);
}

std::string SubjectToken::from_url() const {
  TokenRequest request{.method = "GET", .url = url_, .where = file_, .hint = kHint};
  for (const auto& [name, value] : headers_) {
    request.headers.add(name, value);
    request.secrets.push_back(value);
  }
  HttpAnswer answer = exchange(http_, request);
  if (answer.status != 200) throw refusal(answer, request);
  return std::move(answer.body);
}

std::string SubjectToken::field_in(const std::string& text) const {
  if (field_.empty()) return text;
  const auto object = parse_json(text);
  if (object.is_object()) {
    const auto found = object.find(field_);
    if (found != object.end() && found->is_string()) return *found;
  }
  throw Error(Code::kNotPermitted, cat("the subject token's JSON has no text ", quoted(field_)),
              file_, kHint);
}

}  // namespace berth
