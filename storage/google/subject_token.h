#pragma once

#include <string>
#include <utility>
#include <vector>

#include "storage/google/access_token.h"
#include "storage/google/credential_fields.h"

namespace berth {

// The token of another identity provider: a file's or an URL's, as text or as a field of JSON. Read
// anew each time, as Kubernetes replaces the file.
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
  const std::string file_, path_, url_;  // one of path and url; file_: the credentials'
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string field_;  // of JSON; empty: the whole text
};

}  // namespace berth
