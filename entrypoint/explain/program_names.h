#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/python_reader.h"

namespace berth {

inline bool opens(const PythonToken& token) {
  return token.is_sign('(') || token.is_sign('[') || token.is_sign('{');
}
inline bool closes(const PythonToken& token) {
  return token.is_sign(')') || token.is_sign(']') || token.is_sign('}');
}

// Whether the token belongs to a block of "if", "else", "try" or their kind, inside its function.
// "if __name__ ..." is no condition.
bool is_conditional(const std::vector<PythonToken>& tokens, size_t at);

// A function, or the program around its functions, whose names are its own.
struct PythonScope {
  std::string function{};  // empty: the program
  PythonSpan span{};
  size_t around = 0;                      // the scope that this one stands in
  std::vector<std::string> parameters{};  // in their order, without "*" before them

  // The place of a parameter; nullopt: the function has none of this name.
  std::optional<size_t> place_of(std::string_view parameter) const;
};

// What is assigned to a name.
struct AssignedValue {
  PythonSpan span{};
  bool is_changed = false;  // by "+=" and its kind
  bool is_plain = false;    // the line is "name = value"
};

// The assignments of a program, by the names that they assign to. An attribute of `self` is a name.
// Refers to the tokens.
class Assignments {
 public:
  explicit Assignments(const std::vector<PythonToken>& tokens);

  // The first one is the program.
  const std::vector<PythonScope>& scopes() const { return scopes_; }

  // The scopes around a token, the innermost first.
  std::vector<size_t> scopes_of(size_t at) const;

  // The values that a scope assigns to a name; nullptr: none. An attribute of `self` belongs to the
  // program.
  const std::vector<AssignedValue>* find(const std::string& name, size_t scope) const;

  // Whether all assignments to a name, in any scope, are lines of their own: "name = value".
  bool is_plain(const std::string& name) const;

  // The places where attributes of names are set, and items of what they hold: "a[0].b = 1".
  const std::vector<std::pair<std::string, PythonSpan>>& changed_parts() const { return parts_; }

  // The local names of what other modules hold, with the first part of the module's name.
  const std::map<std::string, std::string>& imports() const { return imports_; }

 private:
  void find_scopes();
  void note_line(size_t begin, size_t end);
  void note_import(size_t begin, size_t end);
  void note_statement(size_t begin, size_t end, bool is_line);
  void note_targets(PythonSpan targets, const AssignedValue& value);
  void note_target(PythonSpan target, const AssignedValue& value);
  size_t find_word(size_t begin, size_t end, std::string_view word) const;
  bool is_sign_of(size_t at, std::string_view signs) const;
  std::vector<PythonSpan> parted_by_commas(PythonSpan span) const;

  const std::vector<PythonToken>& tokens_;
  std::vector<PythonScope> scopes_;
  std::map<std::pair<std::string, size_t>, std::vector<AssignedValue>> values_;  // name and scope
  std::vector<std::pair<std::string, PythonSpan>> parts_;
  std::map<std::string, std::string> imports_;
};

}  // namespace berth
