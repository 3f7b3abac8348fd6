#pragma once

#include <string>
#include <utility>
#include <vector>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// The token that another identity provider issued. It comes from a file or a URL, as plain text or
// as a field of JSON. It is read again each time, because Kubernetes replaces the file.
class SubjectToken {
 public:
  // `source` is the credential file's "credential_source".
  SubjectToken(const CredentialFields& source, const TokenContext& context);

  std::string fetch() const;

 private:
  std::string from_file() const;
  std::string from_url() const;
  std::string field_in(const std::string& text) const;

  HttpClient& http_;
  const std::string file_, path_, url_;  // path_ or url_ is set; file_ is the credential file
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string field_;  // name of the JSON field; empty: the whole text
};

}  // namespace berth
