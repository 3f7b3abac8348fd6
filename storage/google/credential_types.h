#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/json.h"
#include "storage/google/token_request.h"

// The kinds of credential files. CredentialFields may be read by several threads, and a TokenSource
// belongs to one.
namespace berth {

// The fields of a credential file, or of an object within it. Every error is kUsage and names the
// file and the field, but never shows a value. The destructor overwrites all values.
class CredentialFields {
 public:
  // `file` is the name that messages use.
  CredentialFields(std::string_view json, std::string file);
  CredentialFields(CredentialFields&&) noexcept;
  ~CredentialFields();

  const std::string& file() const { return file_; }
  bool has(const std::string& name) const;  // false if the field is null

  // Returns one line of text. Without `absent` the field is required; with it, `absent` replaces an
  // absent or empty field.
  std::string text(const std::string& name) const;
  std::string text(const std::string& name, const std::string& absent) const;
  // Returns text of several lines. The field is required.
  std::string block(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t absent) const;
  CredentialFields object(const std::string& name) const;  // the field is required

  // Return an empty list if the field is absent.
  std::vector<std::string> texts(const std::string& name) const;
  std::vector<std::pair<std::string, std::string>> members(const std::string& name) const;

  // Throws the message: the field "x" <problem>.
  [[noreturn]] void fail(const std::string& name, const std::string& problem,
                         const std::string& hint = "correct the file") const;

 private:
  struct Tree;
  CredentialFields(std::unique_ptr<Tree> tree, std::string file, std::string prefix);

  JsonObject read() const;

  std::unique_ptr<Tree> tree_;
  std::string file_, prefix_;  // prefix_ of an inner object: "credential_source."
};

// Creates the token source for a credential file, according to its "type". Makes no request. Throws
// kUsage, naming the file and the field, if the file is not understood.
std::unique_ptr<TokenSource> make_token_source(const CredentialFields& fields,
                                               const TokenContext& context,
                                               const std::string& scope);

// Whether the file itself grants lasting access, as a password does.
bool holds_a_key(const CredentialFields& fields);

}  // namespace berth
