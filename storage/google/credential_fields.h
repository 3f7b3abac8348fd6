#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

// The fields of a credential file, or of an object in it. Every error is kUsage and names the file
// and the field, and never shows a value. Wiped when destroyed.
class CredentialFields {
 public:
  // `file` is what messages call it.
  CredentialFields(std::string_view json, std::string file);
  CredentialFields(CredentialFields&&) noexcept;
  ~CredentialFields();

  const std::string& file() const { return file_; }
  bool has(const std::string& name) const;  // and it is not null

  // One line of text. Required, or `absent` where it is absent or empty.
  std::string text(const std::string& name) const;
  std::string text(const std::string& name, const std::string& absent) const;
  // Text of several lines. Required.
  std::string block(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t absent) const;
  CredentialFields object(const std::string& name) const;  // required

  // Empty where absent.
  std::vector<std::string> texts(const std::string& name) const;
  std::vector<std::pair<std::string, std::string>> members(const std::string& name) const;

  // What is wrong with a field: "the field "x" <problem>".
  [[noreturn]] void fail(const std::string& name, const std::string& problem,
                         const std::string& hint = "correct the file") const;

 private:
  struct Tree;
  CredentialFields(std::unique_ptr<Tree> tree, std::string file, std::string prefix);

  std::unique_ptr<Tree> tree_;
  std::string file_, prefix_;  // prefix: "credential_source."
};

}  // namespace berth
